/** `--dry-run` against the run that follows it: what they print is the same, and the trial leaves no trace. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { loadAll } from "../../src/archive/load/loader.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { writeDocument } from "../../src/services/reference/writeDocument.ts";
import { run } from "../cli/edges.ts";
import { contentOf, rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { appendAll } from "../support/journal.ts";
import { settled } from "../support/ledger.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerOf, type BackfillWorld, backfillWorld, equity, journal } from "./world.ts";

/** A database that was never migrated, and files of every kind to fill it from. */
async function emptyWorld(): Promise<{ env: Record<string, string>; pool: pg.Pool; files: string }> {
  const { url, pool } = await freshDatabase({ migrated: false });
  const [dataDir, files] = [tempDir(), tempDir()];
  await journal(join(dataDir, "journal"));
  mkdirSync(join(files, "saved"));
  writeFileSync(
    join(files, "saved", "20261118T143000Z.xml"),
    writeDocument({ id: "1", instruments: [equity("AAPL", "150.00"), equity("IBM", "1O0.00")] }),
  );
  writeFileSync(
    join(files, "quotes.csv"),
    "s,t,p\nAAPL,2026-11-18T09:30:00,1\nAAPL,2026-11-18T09:30:00,2\nMSFT,x,1\nMSFT,2026-11-18T09:30:00,1\n",
  );
  writeFileSync(
    join(files, "map.yaml"),
    "timezone: America/New_York\ncolumns: { symbol: s, time: t, last: p }\n",
  );
  const env = {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: dataDir,
    QUOTEKEEPER_JOBS_DIR: join(dataDir, "jobs"),
  };
  return { env, pool, files };
}

/** All that a database holds besides the server's own. */
async function tracesIn(pool: pg.Pool) {
  return rowsOfQuery(
    pool,
    `select 'relation' as kind, relname as name from pg_class where relnamespace = 'public'::regnamespace
     union all select 'function', proname from pg_proc where pronamespace = 'public'::regnamespace
     union all select 'schema', nspname from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
     order by 1, 2`,
  );
}

const withoutTrial = (stdout: string): unknown => ({ ...(JSON.parse(stdout) as object), dryRun: false });

test.each([
  ["--journal", ["--journal"], 25, 1],
  ["--xml", ["--xml", "saved"], 2, 1],
  ["--csv", ["--csv", "quotes.csv", "--map", "map.yaml"], 4, 1],
  ["--gaps", ["--gaps"], 0, 1],
])(
  "on a database that was never migrated a trial of %s says what the run then does, and leaves nothing there",
  async (_source, argv, read, exitCode) => {
    const { env, pool, files } = await emptyWorld();
    const before = await tracesIn(pool);
    const backfill = (...more: string[]) =>
      run(
        [
          "backfill",
          ...argv.map((one) => (/\.|saved/.test(one) ? join(files, one) : one)),
          "--json",
          ...more,
        ],
        env,
      );

    const trial = await backfill("--dry-run");
    const after = await tracesIn(pool);
    const real = await backfill();

    expect(after).toEqual(before);
    const { remarks: _, ...said } = withoutTrial(trial.stdout) as { remarks: unknown; report?: object };
    const { remarks: __, ...done } = JSON.parse(real.stdout) as { remarks: unknown };
    expect(said).toEqual(done);
    expect([trial.exitCode, real.exitCode]).toEqual([exitCode, exitCode]);
    if (said.report) expect(said.report).toMatchObject({ read });
  },
);

test("a dry run on an archive that has to be migrated first is refused, and the error says what to do", async () => {
  const world = await backfillWorld();
  await journal(world.journalDir);
  await world.pool.query(
    "delete from schema_migrations where version > 29; update schema_migrations set version = 28",
  );

  const { exitCode, stderr } = await run(["backfill", "--journal", "--dry-run"], world.env);

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/ARCHIVE_OUTDATED: the archive is at schema version 28, .*quotekeeper migrate/);
});

test("rows of a file that contradict the archive are dead-lettered in a dry run as in the run", async () => {
  const { env, files } = await emptyWorld();
  const argv = ["backfill", "--csv", join(files, "quotes.csv"), "--map", join(files, "map.yaml"), "--json"];
  writeFileSync(join(files, "quotes.csv"), "s,t,p\nAAPL,2026-11-18T09:30:00,1\nMSFT,2026-11-18T09:30:00,1\n");
  await run(argv, env);
  writeFileSync(
    join(files, "quotes.csv"),
    "s,t,p\nAAPL,2026-11-18T09:30:00,3\nMSFT,2026-11-18T09:30:00,1.0\nIBM,2026-11-18T09:30:00,1\n",
  );

  const trial = await run([...argv, "--dry-run"], env);
  const real = await run(argv, env);

  expect(withoutTrial(trial.stdout)).toEqual(JSON.parse(real.stdout));
  expect(JSON.parse(real.stdout)).toMatchObject({
    report: {
      stored: 1,
      repeated: 1,
      deadLettered: 1,
      deadLetters: [{ reason: "answered_twice", count: 1 }],
    },
  });
});

const DAY = "2026-11-18";

const answer = (day: string, time: string, symbol: string, last: string): JournalRecord =>
  answerOf(`${day}T${time}.000000Z`, symbol, last);

const slots = (day: string, time: string, ...misses: string[]): JournalRecord =>
  settled(`${day}T${time}:59.000000Z`, `${day}T${time}:00.000000Z`, ["AAPL", "MSFT"], misses);

/** What the collector has loaded, and what it has journaled since: of the next date, with misses of both. */
async function collectingWorld(): Promise<BackfillWorld> {
  const world = await backfillWorld();
  const append = (records: JournalRecord[], at: string): Promise<void> =>
    appendAll(world.journalDir, records, { clock: createTestClock(at) });
  await append(
    [
      answer(DAY, "14:30:05", "AAPL", "150.00"),
      answer(DAY, "14:30:06", "MSFT", "300.00"),
      slots(DAY, "14:30", "MSFT transport"),
      // A segment of the hour before midnight in New York, and its end after it.
      answer("2026-11-19", "04:59:05", "AAPL", "153.00"),
      answer("2026-11-19", "05:00:05", "AAPL", "154.00"),
      slots("2026-11-19", "04:59", "MSFT budget"),
    ],
    `${DAY}T14:30:00.000Z`,
  );
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  await world.pool.query(
    "delete from quotes where last = 150; delete from extended_quotes where observed_at < '2026-11-18 14:30:06+00'",
  );
  await append(
    [
      answer(DAY, "14:31:05", "AAPL", "151.00"),
      answer(DAY, "14:31:06", "MSFT", "301.00"),
      slots(DAY, "14:31", "MSFT overrun", "AAPL transport"),
      answer("2026-11-20", "14:31:06", "MSFT", "302.00"),
      slots("2026-11-20", "14:31", "MSFT overrun"),
    ],
    `${DAY}T14:31:00.000Z`,
  );
  return world;
}

test.each(["loads what it has journaled in between", "loads nothing in between"])(
  "a trial of --gaps beside a collector that %s agrees with the run that follows",
  async (what) => {
    const world = await collectingWorld();
    const before = await contentOf(world.pool);

    const trial = await run(["backfill", "--gaps", "--dry-run", "--json"], world.env);
    const after = await contentOf(world.pool);
    if (what.startsWith("loads what"))
      await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
    const real = await run(["backfill", "--gaps", "--json"], world.env);

    expect(after).toEqual(before);
    expect(withoutTrial(trial.stdout)).toEqual(JSON.parse(real.stdout));
    // Of five misses four had their quote within the slot; one quote was lost.
    expect(JSON.parse(real.stdout)).toMatchObject({ stored: 1, filled: 4, left: [{ misses: 1 }] });
    const recount = await rowsOfQuery(world.pool, "select count(*)::int as n from quotes");
    expect(recount).toEqual([{ n: 7 }]);
  },
);

test("with a journal and no database a dry run says what the run would do, and makes no database", async () => {
  const dataDir = tempDir();
  await journal(join(dataDir, "journal"));

  const { exitCode, stdout } = await run(["backfill", "--journal", "--dry-run", "--json"], {
    QUOTEKEEPER_DATA_DIR: dataDir,
  });

  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    report: { answers: 15, newAnswers: 15, read: 25, stored: 20, deadLettered: 5, slots: 5 },
  });
  expect(existsSync(join(dataDir, "postgres"))).toBe(false);
});
