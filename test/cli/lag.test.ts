/** What `status` says of answers that are in the journal and not in the database. */
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

/** Three answers of 22:50:00 UTC in the journal, and an empty database. */
async function unloaded() {
  const dataDir = tempDir();
  const jobsDir = join(dataDir, "jobs");
  mkdirSync(jobsDir);
  writeFileSync(join(jobsDir, "job.yaml"), 'name: job\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  await appendAll(
    join(dataDir, "journal"),
    [0, 1, 2].map((second) => answerRecord(at(second), "")),
  );
  return {
    DATABASE_URL: (await freshDatabase()).url,
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_JOBS_DIR: jobsDir,
  };
}

test("status names a new answer that waits to be loaded, with its bytes, and needs nobody", async () => {
  const env = await unloaded();

  const { stdout } = await run(["status"], env, createTestClock("2026-11-20T22:50:30Z"));
  const json = await run(["status", "--json"], env, createTestClock("2026-11-20T22:50:30Z"));

  expect(stdout).toMatch(
    /^journal +ok +1 segment, [\d.]+ kB, [\d.]+ k?B not loaded yet, the oldest from 30 s ago$/m,
  );
  expect(JSON.parse(json.stdout)).toMatchObject({
    lag: { bytes: expect.any(Number), oldestAt: "2026-11-20T22:50:00.000000Z" },
  });
});

test("an answer that waits for longer than ten minutes to be loaded needs a person where a collector has run", async () => {
  const env = await unloaded();
  const byHand = await run(["status"], env, createTestClock("2026-11-20T23:01:00Z"));
  const left = { wallMs: Date.parse("2026-11-20T23:00:59Z"), uptimeMs: 0, ended: true };
  writeFileSync(join(env.QUOTEKEEPER_DATA_DIR, "clock.json"), JSON.stringify(left));

  const { exitCode, stdout } = await run(["status"], env, createTestClock("2026-11-20T23:01:00Z"));

  expect([byHand.exitCode, exitCode]).toEqual([0, 1]);
  expect(byHand.stdout).toMatch(/^journal +- +.*the oldest from 11 min ago: `quotekeeper start` loads it$/m);
  expect(stdout).toMatch(/^journal +ATTENTION +.*the oldest from 11 min ago$/m);
});

test("a journal that has reached its size cap needs a person, and is told how to go on", async () => {
  const env = await unloaded();
  const segment = readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "journal")).find((name) => /journal/.test(name));
  truncateSync(join(env.QUOTEKEEPER_DATA_DIR, "journal", segment ?? ""), 128_000_000);

  const { exitCode, stdout } = await run(
    ["status"],
    { ...env, QUOTEKEEPER_JOURNAL_MAX_MB: "128" },
    createTestClock("2026-11-20T22:50:30Z"),
  );

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^journal +ATTENTION +JOURNAL_FULL: .*QUOTEKEEPER_JOURNAL_MAX_MB/m);
  expect(stdout).toContain("of at most 128.0 MB");
});
