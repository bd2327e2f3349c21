import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { MissReason } from "../../../src/journal/ledger.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import { contentOf } from "../../support/archive.ts";
import { handOnDatabases } from "../../support/database.ts";
import { appendAll, symbolsCall } from "../../support/journal.ts";
import { missed } from "../../support/ledger.ts";
import { SLOT_ENDS } from "../../support/slotEnds.ts";
import { run } from "../../cli/edges.ts";
import { answerOf, type BackfillWorld, backfillWorld } from "../world.ts";
import { answer, DAY, loaded, slots } from "./holes.ts";

handOnDatabases();

/** Each slot: `hh:mm due=stored+missed: misses; fills`. */
async function ledgerOf({ pool }: BackfillWorld): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select to_char(s.slot_at at time zone 'UTC', 'HH24:MI') || ' ' || s.due || '=' || s.stored || '+' || s.missed
       || coalesce(': ' || (select string_agg(m.instrument || ' ' || m.reason, ', ' order by m.instrument) from misses m
              where m.job = s.job and m.slot_at = s.slot_at), '')
       || coalesce('; ' || (select string_agg(f.instrument || ' was ' || f.reason || ' by ' || f.filled_by || ' from ' || o.name, ', ')
              from fills f join sources o on o.id = f.fill_source_id where f.job = s.job and f.slot_at = s.slot_at), '') as line
     from slots s order by s.slot_at`,
  );
  return rows.map(({ line }) => line);
}

test("a slot whose quote another machine's journal brings is filled, with its source; others stay missed", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    answer(DAY, "14:30:05", "AAPL", "150.00"),
    slots(DAY, ["14:30"], missed("MSFT transport")),
    slots(DAY, ["14:31", "14:32"], missed("AAPL down", "MSFT down")),
  ]);
  const other = await backfillWorld();
  await appendAll(other.journalDir, [
    answer(DAY, "14:30:20", "MSFT", "300.00"),
    answer(DAY, "14:31:20", "AAPL", "151.00"),
    answer(DAY, "14:35:00", "MSFT", "301.00"),
  ]);

  const { exitCode, stdout } = await run(["backfill", "--journal", other.journalDir], world.env);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/2 missed filled$/m);
  expect(await ledgerOf(world)).toEqual([
    "14:30 2=2+0; MSFT was transport by journal from account",
    "14:31 2=1+1: MSFT down; AAPL was down by journal from account",
    "14:32 2=0+2: AAPL down, MSFT down",
  ]);
});

test("--gaps fills a slot by a quote of the market that was polled, though an import has an earlier one", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    answer(DAY, "14:30:20", "MSFT", "300.00"),
    slots(DAY, ["14:30"], missed("MSFT transport")),
  ]);
  await world.pool.query("insert into sources (kind, name) values ('import', 'csv')");
  await world.pool.query(
    `insert into quotes (observed_at, instrument_id, source_id, delayed, last)
     select q.observed_at - interval '10 s', q.instrument_id, s.id, false, 299 from quotes q, sources s where s.kind = 'import'`,
  );

  await run(["backfill", "--gaps"], world.env);

  expect(await ledgerOf(world)).toEqual(["14:30 2=2+0; MSFT was transport by gaps from account"]);
});

test("--gaps fills a slot at an hour's end by the answer that came in the next hour", async () => {
  const world = await backfillWorld();
  await loaded(world, [slots(DAY, ["14:59"], missed("MSFT transport"))]);
  const late = { ...answer(DAY, "15:00:01", "MSFT", "300.00"), requestedAt: `${DAY}T14:59:58.000000Z` };
  await loaded(world, [late], `${DAY}T15:00:00.000Z`);
  // Rows that were lost: the journal still has them.
  await world.pool.query("delete from quotes");
  await world.pool.query("delete from extended_quotes");

  await run(["backfill", "--gaps"], world.env);

  expect(await ledgerOf(world)).toEqual(["14:59 2=2+0; MSFT was transport by gaps from account"]);
});

test("--gaps reads the journal of the hours with holes, and fills what it can; a dry run lists the holes and what the journal of those hours holds", async () => {
  const world = await backfillWorld();
  await loaded(world, [
    answer(DAY, "14:30:05", "AAPL", "150.00"),
    answer(DAY, "14:31:05", "MSFT", "300.00"),
    slots(DAY, ["14:30"], missed("MSFT transport")),
    slots(DAY, ["14:31"], missed("AAPL transport", "MSFT malformed")),
  ]);
  // A row that was lost: the journal still has it.
  await world.pool.query("delete from quotes where last = 300");
  await world.pool.query("delete from extended_quotes where observed_at > '2026-11-18 14:31+00'");
  const before = await contentOf(world.pool);

  const trial = await run(["backfill", "--gaps", "--dry-run", "--json"], world.env);
  const afterTrial = await contentOf(world.pool);
  const real = await run(["backfill", "--gaps", "--json"], world.env);
  const again = await run(["backfill", "--gaps"], world.env);

  expect(afterTrial).toEqual(before);
  const outcome = JSON.parse(real.stdout) as Record<string, unknown>;
  expect(JSON.parse(trial.stdout)).toEqual({
    ...{ kind: "gaps", dryRun: true, holes: outcome["holes"], remarks: [] },
    report: expect.objectContaining({ answers: 2, read: 2, deadLettered: 0, damagedBytes: 0 }) as object,
  });
  expect(trial.exitCode).toBe(0);
  expect(outcome).toMatchObject({
    ...{ stored: 1, filled: 1, derived: 0 },
    holes: [
      { job: "us-equities", date: DAY, reason: "malformed", slots: 1, instruments: 1, misses: 1 },
      { job: "us-equities", date: DAY, reason: "transport", slots: 2, instruments: 2, misses: 2 },
    ],
    left: [{ reason: "transport", misses: 2 }],
  });
  expect(real.exitCode).toBe(1);
  expect(again.stdout).toMatch(/^2 missed = 0 filled \+ 2 left; 0 quotes came from the journal$/m);
  expect(await ledgerOf(world)).toEqual([
    "14:30 2=1+1: MSFT transport",
    "14:31 2=1+1: AAPL transport; MSFT was malformed by gaps from account",
  ]);
});

test.each(SLOT_ENDS)(
  "a slot is filled by a quote that was asked for before its end, and by no later one: $name",
  async ({ schedule, session, slotAt, endsAt }) => {
    const world = await backfillWorld();
    const jobsDir = join(world.env["QUOTEKEEPER_DATA_DIR"] ?? "", "jobs");
    mkdirSync(jobsDir, { recursive: true });
    writeFileSync(
      join(jobsDir, "list.yaml"),
      `name: list\nschedule: "${schedule}"\nsession: ${session}\nsymbols: [AAPL, MSFT]\n`,
    );
    const instant = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");
    const asked = (symbol: string, askedMs: number) => ({
      ...answerOf(instant(askedMs + 5_000), symbol, "1.00"),
      requestedAt: instant(askedMs),
    });
    const due = ["AAPL", "MSFT"];
    const misses = due.map((name): [string, MissReason] => [name, "down"]);
    const entries = [{ job: "list", slotAt: instant(Date.parse(slotAt)), due, misses }];
    await loaded(
      world,
      [
        { kind: "note", at: instant(Date.parse(endsAt)), note: { type: "slots", entries } },
        asked("AAPL", Date.parse(endsAt) - 1),
        asked("MSFT", Date.parse(endsAt)),
      ],
      endsAt,
    );

    await run(["backfill", "--gaps"], world.env);

    expect(await ledgerOf(world)).toEqual([
      expect.stringMatching(/ 2=1\+1: MSFT down; AAPL was down by gaps /),
    ]);
  },
);

test("a long downtime's star becomes a row for each instrument that is still missing", async () => {
  const world = await backfillWorld();
  await loaded(world, [answer(DAY, "14:30:05", "AAPL", "150.00"), slots(DAY, ["14:30"], missed("* down"))]);
  await world.pool.query("update slots set stored = 0, missed = 2");

  await run(["backfill", "--gaps"], world.env);

  expect(await ledgerOf(world)).toEqual(["14:30 2=1+1: MSFT down; AAPL was down by gaps from account"]);
});

test("a simulated slot is not filled by real quotes, nor a real-time one by delayed ones", async () => {
  const world = await backfillWorld();
  const delayed = {
    ...answer(DAY, "14:30:30", "MSFT", "300.00"),
    request: { ...symbolsCall("MSFT"), delayed: true },
  };
  const simulatedSlot: JournalRecord = {
    kind: "note",
    at: `${DAY}T14:30:59.000000Z`,
    note: {
      type: "slots",
      source: "simulated",
      entries: [
        { job: "demo", slotAt: `${DAY}T14:30:00.000000Z`, due: ["AAPL"], misses: missed("AAPL budget") },
      ],
    },
  };
  await loaded(world, [
    answer(DAY, "14:30:05", "AAPL", "150.00"),
    delayed,
    slots(DAY, ["14:30"], missed("MSFT budget")),
    simulatedSlot,
  ]);

  const { stdout } = await run(["backfill", "--gaps", "--json"], world.env);

  expect(JSON.parse(stdout)).toMatchObject({ filled: 0 });
});

test("--gaps says that the ledger has no holes, exit code 0", async () => {
  const world = await backfillWorld();
  await loaded(world, [answer(DAY, "14:30:05", "AAPL", "150.00"), slots(DAY, ["14:30"], [], ["AAPL"])]);

  const { exitCode, stdout } = await run(["backfill", "--gaps"], world.env);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^The ledger has no holes\.$/m);
});
