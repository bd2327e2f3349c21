/**
 * Runs once before all tests, in jest's own process: offers databases to the test files (see `desk.ts`). A server is
 * started when the first of them asks, so a run of pure tests starts none.
 */
import { allowTypescript } from "./typescript.js";

// eslint-disable-next-line import-x/no-default-export -- jest calls the default export
export default async function setup() {
  allowTypescript();
  const { openDesk } = await import("./desk.ts");
  const desk = await openDesk(process.env.TEST_DATABASE_URL || null);
  // Workers inherit the environment; the teardown runs in this process.
  process.env.TEST_DATABASE_DESK = desk.url;
  globalThis.testDatabaseDesk = desk;
}
