import { readdir, readFile, writeFile } from "node:fs/promises";
import { renameSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { contentOf } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { tempDir } from "../../support/tempDir.ts";
import { capturedEdges, run } from "../../cli/edges.ts";
import { runProgram } from "../../../src/cli/program.ts";
import { type BackfillWorld, backfillWorld, journal, MINUTES, recordsOf } from "../world.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import { appendAll } from "../../support/journal.ts";

/** The archive without what is remembered of backfills themselves. */
async function archiveOf({ pool }: Pick<BackfillWorld, "pool">) {
  const { backfills, ...content } = await contentOf(pool);
  expect(backfills).toBeDefined();
  return content;
}

function rowsOf(content: Awaited<ReturnType<typeof archiveOf>>): Record<string, number> {
  return Object.fromEntries(Object.entries(content).map(([table, { rows }]) => [table, rows]));
}

/** Counts and sums of the daily bars, from the rows. */
async function barsOf({ pool }: BackfillWorld) {
  const { rows } = await pool.query(
    `select b.quote_count = count(*) and b.spread_sum = coalesce(sum(q.ask - q.bid) filter (where q.bid > 0 and q.ask > 0), 0)
              and b.spread_count = count(*) filter (where q.bid > 0 and q.ask > 0) as equal, count(*) as quotes
     from session_bars b
     join quotes q on q.instrument_id = b.instrument_id and q.source_id = b.source_id and q.delayed = b.delayed
      and (q.observed_at at time zone 'America/New_York')::date = b.date
     group by b.instrument_id, b.source_id, b.delayed, b.date order by b.instrument_id, b.source_id, b.delayed, b.date`,
  );
  expect(rows.map(({ equal }: { equal: boolean }) => equal)).not.toContain(false);
  return rows;
}

async function load({ pool, journalDir }: BackfillWorld): Promise<void> {
  await loadAll({ pool, journalDir, clock: createTestClock() });
}

test("backfill --journal recreates every row in an empty database, and adds nothing to a full one", async () => {
  const live = await backfillWorld();
  await journal(live.journalDir);
  await load(live);
  const lost = { ...(await backfillWorld()), journalDir: live.journalDir };
  const env = { ...lost.env, QUOTEKEEPER_DATA_DIR: live.env["QUOTEKEEPER_DATA_DIR"] ?? "" };

  const first = await run(["backfill", "--journal", "--json"], env);
  const restored = await archiveOf(lost);
  const second = await run(["backfill", "--journal", "--json"], env);

  expect(restored).toEqual(await archiveOf(live));
  // What could not become rows then cannot now.
  expect(first).toMatchObject({ exitCode: 1 });
  expect(JSON.parse(first.stdout)).toMatchObject({
    ...{ kind: "journal", dryRun: false, resumed: false },
    report: {
      ...{ answers: 15, newAnswers: 15, read: 25, stored: 20, repeated: 0, deadLettered: 5, missing: 5 },
      ...{ slots: 5, filled: 0, replaced: 0, damagedBytes: 0, cutTimes: 0 },
    },
  });
  expect(JSON.parse(second.stdout)).toMatchObject({
    report: { answers: 15, newAnswers: 0, read: 25, stored: 0, repeated: 20, deadLettered: 5, slots: 0 },
  });
  expect(await archiveOf(lost)).toEqual(restored);
});

test("each answer of a fleet's journals is filed under its own account, and old answers under the default account", async () => {
  const world = await backfillWorld();
  const records = MINUTES.slice(0, 3).map((minute, place) => {
    const account = ["default", "second", "third"][place];
    return recordsOf(minute).map((record) =>
      record.kind === "response" && account !== "default" ? { ...record, account } : record,
    );
  });
  const dirs = records.map(() => tempDir());
  for (const [place, dir] of dirs.entries()) await appendAll(dir, (records[place] ?? []) as JournalRecord[]);

  for (const dir of [...dirs, ...dirs]) await run(["backfill", "--journal", dir], world.env);

  const { rows } = await world.pool.query<{ name: string; answers: number }>(
    "select name, count(*)::int as answers from responses join accounts on accounts.id = account_id group by 1 order by 1",
  );
  const answersOf = (all: readonly JournalRecord[] = []): number =>
    all.filter(({ kind }) => kind === "response").length;
  expect(rows).toEqual(
    ["default", "second", "third"].map((name, place) => ({
      name,
      answers: answersOf(records[place] as JournalRecord[]),
    })),
  );
});

test("backfill --journal reads another machine's journal from its data directory, and a range of it alone", async () => {
  const other = await backfillWorld();
  await journal(other.journalDir);
  const here = await backfillWorld();

  const { exitCode, stdout } = await run(
    [
      "backfill",
      "--journal",
      other.env["QUOTEKEEPER_DATA_DIR"] ?? "",
      "--from",
      "2026-11-19",
      "--to",
      "2026-11-19T20:00:00Z",
    ],
    here.env,
  );

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Dead +2: 2 malformed \(IBM: .*\); the table dead_letters has each$/m);
  expect(stdout).toMatch(/^Quotes +10 read = 8 stored \+ 0 repeated \+ 2 dead-lettered$/m);
  const { rows } = await here.pool.query("select distinct date_trunc('day', observed_at) as day from quotes");
  expect(rows).toEqual([{ day: "2026-11-19 00:00:00+00" }]);
  expect((await contentOf(here.pool))["journal_positions"]).toMatchObject({ rows: 0 });
});

test("Ctrl-C ends backfill --journal after the batch under way; the next run resumes there and reports both runs", async () => {
  const world = await backfillWorld();
  await journal(world.journalDir);
  const { edges, interrupt, stderr } = capturedEdges({
    env: { ...world.env, QUOTEKEEPER_LOG_LEVEL: "info" },
  });
  const clock = { ...edges.clock, monotonicMs: () => (interrupt(), edges.clock.monotonicMs()) };

  const exitCode = await runProgram(["backfill", "--journal"], { ...edges, clock });
  const partly = await contentOf(world.pool);
  const second = await run(["backfill", "--journal", "--json"], world.env);

  expect(exitCode).toBe(130);
  expect(stderr()).not.toContain("UNEXPECTED");
  expect(partly["quotes"]?.rows).toBeLessThan(20);
  expect(JSON.parse(second.stdout)).toMatchObject({
    resumed: partly["responses"]?.rows !== 0,
    report: { answers: 15, read: 25, stored: 20, repeated: 0 },
  });
});

test("a batch that another transaction is in the way of is loaded again, and none is lost", async () => {
  const world = await backfillWorld();
  await journal(world.journalDir);
  const whole = { ...(await backfillWorld()), journalDir: world.journalDir };
  await load(whole);
  await run(["migrate"], world.env);
  // Fails once: a sequence does not go back with the transaction.
  await world.pool.query(`
      create sequence attempts;
      create function fail_once() returns trigger language plpgsql as $$
      begin
        if nextval('attempts') = 1 then raise exception 'in the way' using errcode = '40P01'; end if;
        return new;
      end $$;
      create trigger fail_once before update on backfill_positions for each row execute function fail_once()`);

  const { exitCode, stdout } = await run(["backfill", "--journal", "--json"], world.env);

  const attempts = await world.pool.query<{ n: number }>("select last_value::int as n from attempts");
  expect(exitCode).toBe(1);
  expect(attempts.rows[0]?.n).toBeGreaterThan(1);
  expect(JSON.parse(stdout)).toMatchObject({
    report: { answers: 15, newAnswers: 15, read: 25, stored: 20, repeated: 0, deadLettered: 5 },
  });
  // Numbers were given out that are used no more; all else is as it would have been.
  expect(rowsOf(await archiveOf(world))).toEqual(rowsOf(await archiveOf(whole)));
});

test("lost quotes that come again from the journal are in the bars once", async () => {
  const world = await backfillWorld();
  await journal(world.journalDir);
  await load(world);
  const whole = await archiveOf(world);
  const bars = await barsOf(world);

  for (const lost of ["delete from quotes", "delete from quotes where last > 151", "truncate quotes"]) {
    await world.pool.query(lost);
    const { exitCode } = await run(["backfill", "--journal"], world.env);

    expect(exitCode).toBe(1);
    expect(await archiveOf(world)).toEqual(whole);
    expect(await barsOf(world)).toEqual(bars);
  }
});

test("a rebuild replaces changed and lost rows, in the bars as well, and leaves what has no answer here", async () => {
  const world = await backfillWorld();
  await journal(world.journalDir);
  await load(world);
  const whole = await archiveOf(world);
  await world.pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
     select '2026-11-18 15:00+00', min(id), 1, false, 1 from instruments`,
  );
  const strange = await world.pool.query("select * from quotes where last = 1");
  await world.pool.query("update quotes set last = 999 where observed_at < '2026-11-18 14:31+00'");
  await world.pool.query("delete from extended_quotes where observed_at > '2026-11-19'");
  await world.pool.query("delete from quotes where observed_at > '2026-11-19 20:00+00'");

  const { exitCode, stdout } = await run(["backfill", "--journal", "--rebuild"], world.env);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Quotes +25 read = 20 stored \+ 0 repeated \+ 5 dead-lettered$/m);
  expect(stdout).toMatch(/^Replaced +16 quotes/m);
  expect((await world.pool.query("select * from quotes where last = 1")).rows).toEqual(strange.rows);
  await world.pool.query("delete from quotes where last = 1");
  await world.pool.query("select recompute_session_bars('2026-11-18', '2026-11-18')");
  expect(await archiveOf(world)).toEqual(whole);
});

test("backfill --journal names a directory without a journal, exit code 2", async () => {
  const world = await backfillWorld();
  const empty = tempDir();

  const { exitCode, stderr } = await run(["backfill", "--journal", empty], world.env);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(`BACKFILL_NOTHING: ${empty} holds no segment of a journal`);
});

test.each([
  [[], "give one of --journal"],
  [["--journal", "--gaps"], "give one of --journal"],
  [["--gaps", "--rebuild"], "--rebuild does not go with --gaps"],
  [["--csv", "a.csv", "b.csv"], "several files need --name"],
  [["--csv", "quotes.csv", "--map", "map.yaml"], "a map is a SELECT since 0.9.0"],
  [["--csv", ".", "--name", "mine"], "--name does not go with --csv and a directory"],
  [["--csv", ".", "--replace"], "--replace does not go with --csv and a directory"],
  [["--parquet", ".", "--map", "map.sql"], "--map does not go with --parquet"],
  [["--journal", "--map", "map.sql"], "--map does not go with --journal"],
  [["--journal", "--replace"], "--replace does not go with --journal"],
  [["--journal", "--from", "2026-11-20", "--to", "2026-11-19"], "is not before"],
  [["--journal", "--from", "yesterday"], "Expected an exchange date"],
])("backfill %j is refused: %s", async (argv, message) => {
  const { exitCode, stderr } = await run(["backfill", ...argv]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
});

test("damaged bytes of a journal cost themselves alone, and are counted", async () => {
  const world = await backfillWorld();
  const elsewhere = tempDir();
  await journal(join(elsewhere, "journal"), MINUTES.slice(0, 1));
  mkdirSync(dirname(world.journalDir), { recursive: true });
  renameSync(join(elsewhere, "journal"), world.journalDir);
  await damageFirst(world.journalDir);

  const { exitCode, stdout, stderr } = await run(["backfill", "--journal"], world.env);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Answers +2 read: 2 new/m);
  expect(stdout).toMatch(/^Damaged +[\d.,]+ k?B could not be read$/m);
  expect(stderr).toContain("damaged bytes of the journal were passed over");
});

/** Overwrites a byte within the first record's body. */
async function damageFirst(dir: string): Promise<void> {
  const [name = ""] = await readdir(dir);
  const bytes = await readFile(join(dir, name));
  bytes[bytes.indexOf("<response") + 20] = 0;
  await writeFile(join(dir, name), bytes);
}
