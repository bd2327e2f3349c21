/** A start whose embedded server does not start. */
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { databaseError, collectingGoesOn } from "../../src/archive/connect/databaseError.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { createTestClock } from "../support/clock.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// A cluster is made, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test("a start goes on beside an embedded server that does not start, in that server's words, and has it once it is mended", async () => {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  const config = loadConfig({ QUOTEKEEPER_DATA_DIR: join(dir, "data") }, dir);
  await (await openArchive(config, systemClock)).close();
  const settings = join(dir, "data", "postgres", "postgresql.conf");
  const right = readFileSync(settings, "utf8");
  appendFileSync(settings, "\nno_such_setting = on\n");

  const archive = await openArchive(config, createTestClock(), { patienceMs: 1_000 });
  closers.push(() => archive.close());
  const refusal = async () => {
    const error = await archive.pool.query("select 1").then(
      () => null,
      (cause: unknown) => databaseError(cause, archive.address),
    );
    return error?.code === "EMBEDDED_FAILED" ? error : null;
  };
  const failed = await until(refusal, "the server's own words");
  writeFileSync(settings, right);
  const { rows } = await until(
    () => archive.pool.query("select 1 as one").catch(() => null),
    "the server that starts now",
  );

  expect(failed.message).toContain("no_such_setting");
  expect(collectingGoesOn(failed)).toBe(true);
  expect(rows).toEqual([{ one: 1 }]);
});
