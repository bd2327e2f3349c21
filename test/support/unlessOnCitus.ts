/** Tests of what Citus has not, or has otherwise. */
import { test } from "@jest/globals";

/**
 * @param leftOut what is said once where the run is on Citus
 * @returns how to declare such a test
 */
export function unlessOnCitus(leftOut: string): typeof test.skip {
  if (!process.env["TEST_CITUS_URL"]) return test;
  process.stderr.write(`Left out on Citus, ${leftOut}\n`);
  return test.skip;
}
