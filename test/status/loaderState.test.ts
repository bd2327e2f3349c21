/** What `status` makes of the file in which a collector says that its loader is stuck. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { Archive } from "../../src/archive/openArchive.ts";
import { openLoading } from "../../src/collector/journalLoading.ts";
import { keepLoaderState, readLoaderState } from "../../src/status/loaderState.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, at } from "../support/journal.ts";
import { silentLog } from "../support/silentLog.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { run } from "../cli/edges.ts";

const STUCK = new QuotekeeperError("DATABASE_FAILED", "127.0.0.1:5432/quotes: 42P05");
const ALL_LOADED = { bytes: 0, oldestAt: null };
const WAITING = { bytes: 100, oldestAt: at(0) };

/** A directory whose collector has met an error at 22:50, and nothing since. */
async function stuckAt() {
  const dataDir = tempDir();
  const clock = createTestClock();
  const file = keepLoaderState(dataDir, clock);
  file.failed(STUCK);
  await file.settled();
  return { dataDir, clock, file };
}

test("a loader that has just failed counts, whether or not anything waits to be loaded", async () => {
  const { dataDir, clock } = await stuckAt();

  for (const lag of [ALL_LOADED, WAITING, null])
    expect(await readLoaderState(dataDir, clock.now(), lag)).toMatchObject({ message: STUCK.message });
});

test("a collector that was killed while it was stuck counts as long as something waits to be loaded", async () => {
  const { dataDir, clock } = await stuckAt();
  clock.advance(3_600_000);

  expect(await readLoaderState(dataDir, clock.now(), WAITING)).toMatchObject({ message: STUCK.message });
  expect(await readLoaderState(dataDir, clock.now(), null)).toMatchObject({ message: STUCK.message });
  expect(await readLoaderState(dataDir, clock.now(), ALL_LOADED)).toBeNull();
});

test("a loader that is still stuck an hour later says so, and since when", async () => {
  const { dataDir, clock, file } = await stuckAt();
  for (let minute = 0; minute < 60; minute++) {
    clock.advance(60_000);
    file.failed(STUCK);
  }
  await file.settled();

  const state = await readLoaderState(dataDir, clock.now(), ALL_LOADED);

  expect(state).toMatchObject({ since: new Date("2026-11-20T22:50:00Z"), triedAt: clock.now() });
});

test("a loader that works again leaves nothing, however quickly it came and went", async () => {
  const { dataDir, clock, file } = await stuckAt();
  file.works();
  file.failed(STUCK);
  file.works();
  await file.settled();

  expect(await readLoaderState(dataDir, clock.now(), WAITING)).toBeNull();
});

test("a file that is no such file says nothing", async () => {
  const dataDir = tempDir();
  for (const text of ["", "{", "[]", '{"message":"x","since":"yesterday","triedAt":"today"}']) {
    writeFileSync(join(dataDir, "loader.json"), text);
    expect(await readLoaderState(dataDir, createTestClock().now(), null)).toBeNull();
  }
});

test("status names it in the line of the database, exit code 1, and no longer once a poll has loaded everything", async () => {
  const { dataDir, clock } = await stuckAt();
  mkdirSync(join(dataDir, "jobs"));
  writeFileSync(join(dataDir, "jobs", "job.yaml"), 'name: job\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  await appendAll(join(dataDir, "journal"), [answerRecord(at(0), "")]);
  const env = {
    DATABASE_URL: (await freshDatabase()).url,
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_JOBS_DIR: join(dataDir, "jobs"),
  };
  clock.advance(300_000);

  const before = await run(["status"], env, clock);
  await run(["poll", "--symbols", "AAPL"], env, clock);
  const after = await run(["status"], env, clock);

  expect(before.exitCode).toBe(1);
  expect(before.stdout).toMatch(
    /^database +ATTENTION +DATABASE_FAILED: .* Loading has failed since 2026-11-20 17:50:00 New York\.$/m,
  );
  expect(after.stdout).toMatch(/^database +ok /m);
});

test("the size of what is not loaded is looked up again each half minute", async () => {
  const { pool } = await freshDatabase();
  const journalDir = tempDir();
  const clock = createTestClock();
  const archive = { pool, address: "127.0.0.1/quotes", revive: () => Promise.resolve() } as Archive;
  const { loader, lag } = openLoading(
    {
      ...{ config: { dataDir: tempDir() }, archive, clock, schemaReady: Promise.resolve(true) },
      ...{ log: silentLog as never, calm: { ...silentLog, flush: () => undefined } },
      onChange: () => undefined,
    },
    { dir: journalDir, journal: { keptTo: () => Infinity } },
  );
  await loader.drain();
  await lag.look();
  const atFirst = lag.bytes();

  await appendAll(journalDir, [answerRecord(at(0), "")]);
  const soon = lag.bytes();
  clock.advance(30_000);
  await until(() => (lag.bytes() ?? 0) > 0, "what is not loaded");

  expect([atFirst, soon]).toEqual([0, 0]);
  await loader.close(1_000);
});
