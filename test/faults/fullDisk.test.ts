/** A disk that is full for a while, from the service's answer to the ledger, and what `status` makes of it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { systemClock } from "../../src/ground/clock.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { type Collection, startCollection } from "../../src/collector/collection.ts";
import { calmLog } from "../../src/ground/calmLog.ts";
import { createLogger } from "../../src/cli/terminal/logger.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { nodeFs, type JournalFs } from "../../src/journal/fs.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { Auditor } from "./kit/audit.ts";
import { startFeed } from "./kit/feed.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The machine's file system, full at one step as long as it is told so. */
function fillableDisk(): { fs: JournalFs; full: { at: readonly string[] } } {
  const full = { at: [] as readonly string[] };
  const pass = (step: string): void => {
    if (full.at.includes(step)) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
  };
  const fs: JournalFs = {
    ...nodeFs,
    open: async (path, flags) => {
      if (flags === "r") return nodeFs.open(path, flags);
      pass("open");
      const file = await nodeFs.open(path, flags);
      return {
        read: (...all) => file.read(...all),
        write: async (...all) => {
          pass("write");
          return file.write(...all);
        },
        datasync: async () => {
          pass("fsync");
          await file.datasync();
        },
        truncate: (length) => file.truncate(length),
        close: () => file.close(),
      };
    },
    rename: async (from, to) => {
      pass("rename");
      await nodeFs.rename(from, to);
    },
  };
  return { fs, full };
}

test("a disk full at open, write or fsync: the polls are missed and not loaded, and work resumes by itself", async () => {
  const { url, pool } = await freshDatabase();
  const feed = await startFeed();
  closers.push(feed.close);
  const [dataDir, jobsDir] = [tempDir(), tempDir()];
  writeFileSync(
    join(jobsDir, "job.yaml"),
    'name: job\nschedule: "* * * * * *"\nsession: always\nsymbols: [A, B]\n',
  );
  const config = loadConfig(
    {
      DATABASE_URL: url,
      QUOTES_BASE_URL: feed.baseUrl,
      QUOTES_CONSUMER_KEY: "key",
      QUOTES_CONSUMER_SECRET: "secret",
      QUOTES_ACCESS_TOKEN: "token",
      QUOTES_ACCESS_TOKEN_SECRET: "token-secret",
      QUOTEKEEPER_DATA_DIR: dataDir,
      QUOTEKEEPER_JOBS_DIR: jobsDir,
    },
    tempDir(),
  );
  const archive = await openArchive(config, systemClock);
  closers.push(archive.close);
  const { fs, full } = fillableDisk();
  let logged = "";
  const stderr = { isTTY: false, columns: 80, write: (text: string) => void (logged += text) };
  const log = await createLogger("error", stderr);
  const collection: Collection = await startCollection({
    ...{
      config,
      archive,
      clock: systemClock,
      log,
      calm: calmLog(log, systemClock),
      journalFs: fs,
      onChange: () => undefined,
    },
    bootId: null,
  });
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= collection.close());
  closers.push(close);
  const auditor = new Auditor(pool, join(dataDir, "journal"));
  const loaded = async (): Promise<number> => (await auditor.check()).loaded;

  const status = () => collection.collector.status();
  /** The disk is full at these steps until a miss says so in the words expected. */
  const fullAt = async (steps: readonly string[], says: RegExp): Promise<void> => {
    const { missed } = status();
    full.at = steps;
    await until(
      () => status().missed > missed && says.test(status().lastError?.message ?? ""),
      `the error at ${steps}`,
    );
  };

  // After a failed write the next append begins a new segment, whose line in the list is written and synced first.
  await until(async () => (await loaded()) > 0, "an answer loaded");
  for (const steps of [["write"], ["write", "open"], ["fsync"]]) {
    const what = steps.includes("open") ? [] : ["cannot be written"];
    const says = ["a new segment cannot be made", ...what].join("|");
    await fullAt(steps, new RegExp(`^JOURNAL_WRITE_FAILED: .*(?:${says}): ENOSPC.*Free space`));
  }
  full.at = [];
  const before = await loaded();
  await until(async () => (await loaded()) > before, "work going on");
  await close();

  const { violations, journaled } = await auditor.check({ complete: true });
  const [ledger] = await rowsOfQuery(
    pool,
    `select bool_and(due = stored + missed) as sums, sum(missed)::int as missed,
            (select count(*)::int from misses where reason = 'down') as down from slots`,
  );
  expect(violations).toEqual([]);
  expect(feed.answered()).toBeGreaterThanOrEqual(journaled + 3);
  expect(ledger).toMatchObject({ sums: true });
  expect(ledger?.["down"]).toBeGreaterThanOrEqual(6);
  expect(logged).toMatch(/JOURNAL_WRITE_FAILED: .*ENOSPC/);
});
