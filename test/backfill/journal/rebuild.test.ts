/** A rebuild against what live collecting made: recounted by digests of whole tables, in the text of their rows. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { loadAll } from "../../../src/archive/load/loader.ts";
import type { Instant } from "../../../src/ground/clock.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import type { LedgerNote } from "../../../src/journal/ledger.ts";
import { run } from "../../cli/edges.ts";
import { contentOf } from "../../support/archive.ts";
import { createTestClock } from "../../support/clock.ts";
import { openCollecting } from "../../support/collecting.ts";
import { appendAll } from "../../support/journal.ts";
import { missed, settled } from "../../support/ledger.ts";
import { startSimulatedService, TEST_CREDENTIALS } from "../../support/simulatedService.ts";
import { tempDir } from "../../support/tempDir.ts";
import { answerOf, type BackfillWorld, backfillWorld, journal, MINUTES } from "../world.ts";

const DAY = "2026-11-20";
const RUN = "018f0000-0000-7000-8000-000000000001";

/** The archive without what is remembered of backfills themselves. */
async function archiveOf(pool: pg.Pool) {
  const { backfills, ...content } = await contentOf(pool);
  expect(backfills).toBeDefined();
  return content;
}

const note = (time: string, content: LedgerNote): JournalRecord => ({
  kind: "note",
  at: `${DAY}T${time}.000000Z`,
  note: content,
});

function slots(time: string, due: string[], misses: string[], day = DAY): LedgerNote {
  const entries = [{ job: "test-job", slotAt: `${day}T${time}:00.000000Z`, due, misses: missed(...misses) }];
  return { type: "slots", source: "simulated", run: RUN, entries };
}

/** The same as told of another account. */
const second = (time: string, content: LedgerNote): JournalRecord =>
  note(
    time,
    content.type === "slots"
      ? { ...content, entries: content.entries.map((entry) => ({ ...entry, account: "second" })) }
      : content.type === "clock"
        ? content
        : { ...content, others: [{ account: "second", due: ["MSFT"] }] },
  );

/** Every kind of note: settled, told twice, left open, down for long, a moved clock, one that is no note of ours. */
const NOTES: JournalRecord[] = [
  note("16:20:01", {
    ...{ type: "opened", source: "simulated", run: RUN, job: "test-job", due: ["AAPL", "GONE"] },
    ...{ slotAt: `${DAY}T16:20:00.000000Z`, endsAt: `${DAY}T16:21:00.000000Z` },
  }),
  note("16:20:59", slots("16:20", ["AAPL", "GONE"], ["GONE unknown_symbol"])),
  note("16:21:59", slots("16:21", ["AAPL", "MSFT"], ["AAPL budget", "MSFT down"])),
  second("16:22:03", slots("16:21", ["AAPL", "GE", "KO"], ["GE transport", "KO transport"])),
  second("16:22:04", slots("16:21", ["AAPL", "GE", "KO"], ["AAPL down", "KO down"])),
  note("16:22:05", slots("16:21", ["AAPL", "IBM"], ["AAPL overrun"])),
  note("16:22:10", {
    ...{ type: "opened", source: "simulated", run: RUN, job: "test-job", due: ["AAPL"] },
    ...{ slotAt: `${DAY}T16:22:00.000000Z`, endsAt: null },
  }),
  note("16:23:00", {
    ...{ type: "down", source: "simulated", job: "other-job" },
    slots: Array.from({ length: 350 }, (_, second): Instant =>
      new Date(Date.UTC(2026, 10, 19, 20, 0, second)).toISOString().replace("000Z", "000000Z"),
    ),
    due: Array.from({ length: 300 }, (_, place) => `S${place}`),
  }),
  note("16:23:01", { type: "clock", at: `${DAY}T16:23:01.000000Z`, kind: "set_back", stepMs: -5_000 }),
  note("16:23:02", slots("16:2x", ["AAPL"], [])),
];

/** Whatever hands, disks and older releases may do to what is derived from the journal. */
const DAMAGE = `
  update quotes set bid = bid * 1.0, last = last * 1.0, delayed = not delayed;
  delete from quotes where instrument_id % 2 = 0;
  update extended_quotes set volume = volume + 1, high = high * 1.00;
  update dividends set amount = amount * 1.0, yield = 7;
  delete from dividends where instrument_id % 3 = 0;
  insert into dividends select observed_at + interval '1 ms', instrument_id, source_id, ex_date, 9, 9 from dividends;
  delete from dividends where amount = 9 and observed_at in (select observed_at + interval '1 ms' from quotes);
  delete from responses where observed_at = (select min(observed_at) from responses);
  update responses set job = 'another', outcome = 'malformed';
  update dead_letters set detail = 'nonsense', reason = 'not_asked';
  delete from misses where instrument <> '*';
  update misses set reason = 'closed';
  update slots set stored = due, missed = 0;
  delete from slots where job = 'other-job' and slot_at < '2026-11-19 20:01+00';
  delete from open_slots;
  delete from clock_steps;
  update due_sets set instruments = array['NONSENSE'];
  update instruments set description = 'nonsense', exchange = null, contract_size = 7, underlying_id = null,
    strike = strike * 1.0, first_seen_at = '2020-01-01', last_seen_at = '2030-01-01';
  update session_bars set quote_count = quote_count + 1, high = 1e6;
  update intraday_bars set quote_count = quote_count + 1, high = 1e6`;

test("after collecting and whatever was done to the tables, a rebuild gives each of them the digest it had", async () => {
  const clock = createTestClock(`${DAY}T16:20:30.250Z`);
  const { baseUrl } = await startSimulatedService(clock);
  const { url, pool, journalDir, collect } = await openCollecting(clock, {
    baseUrl,
    credentials: TEST_CREDENTIALS,
  });
  const contract = { underlying: "AAPL", expiration: "2026-12-18", strike: "230" };
  for (let round = 0; round < 3; round++) {
    await collect({ form: "symbols", symbols: ["AAPL", "AMZN", "GONE", "007"], delayed: false });
    await collect({ form: "option", contract: { ...contract, optionType: "CALL" }, delayed: false });
    await collect({ form: "option", contract: { ...contract, optionType: "PUT" }, delayed: true });
    await clock.advance(60_000);
  }
  await journal(journalDir, MINUTES.slice(0, 3));
  await appendAll(journalDir, NOTES, { clock });
  await loadAll({ pool, journalDir, clock });
  const live = await archiveOf(pool);
  await pool.query(DAMAGE);
  const damaged = await archiveOf(pool);

  const env = {
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
    QUOTEKEEPER_JOBS_DIR: tempDir(),
  };
  const { stdout } = await run(["backfill", "--journal", journalDir, "--rebuild"], env);
  const again = await run(["backfill", "--journal", journalDir, "--rebuild", "--json"], env);

  expect(stdout).toMatch(/^Replaced/m);
  const same = Object.keys(live).filter((table) => live[table]?.digest === damaged[table]?.digest);
  expect(same.sort()).toEqual(
    [
      "accounts",
      "backfill_positions",
      "calendar_days",
      "derived_closes",
      "fills",
      "journal_positions",
      "sessions",
      "sources",
    ].sort(),
  );
  expect(await archiveOf(pool)).toEqual(live);
  expect(JSON.parse(again.stdout)).toMatchObject({ report: { dividends: 0, filled: 0 } });
});

test("a rebuild fills the slots that were filled before, and no others", async () => {
  const world = await backfillWorld();
  const slot = (time: string): JournalRecord =>
    settled(
      `${DAY}T${time}:59.000000Z`,
      `${DAY}T${time}:00.000000Z`,
      ["AAPL", "IBM"],
      ["AAPL budget", "IBM budget"],
    );
  const answer = (time: string, symbol = "AAPL"): JournalRecord =>
    answerOf(`${DAY}T${time}:30.000000Z`, symbol, "150.00");
  // So long that each of its slots has one row for all that was due.
  const down = note("14:50:00", {
    ...{ type: "down", source: "account", job: "other" },
    slots: Array.from({ length: 350 }, (_, second): Instant =>
      new Date(Date.UTC(2026, 10, 20, 14, 40, second)).toISOString().replace("000Z", "000000Z"),
    ),
    due: Array.from({ length: 300 }, (_, place) => `S${place}`),
  });
  const load = async (records: JournalRecord[], at: string): Promise<void> => {
    await appendAll(world.journalDir, records, { clock: createTestClock(at) });
    await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  };
  await load([answer("14:41", "S7"), down, answer("15:00"), slot("15:00")], `${DAY}T15:00:00.000Z`);
  await run(["backfill", "--gaps"], world.env);
  // One more that could be filled, and that nobody has asked for.
  await load([answer("15:01"), slot("15:01")], `${DAY}T15:01:00.000Z`);
  const before = await archiveOf(world.pool);
  await world.pool.query("delete from quotes; update slots set stored = 0, missed = due");

  await run(["backfill", "--journal", "--rebuild"], world.env);

  expect(before["fills"]?.rows).toBe(2);
  expect(await archiveOf(world.pool)).toEqual(before);
});

test("a rebuild replaces the rows of one service's answer beside another service's of the same time", async () => {
  const world = await backfillWorld();
  const at = `${DAY}T15:00:00.000000Z`;
  const other = { requestId: RUN, source: { kind: "account", name: "other" } } as const;
  const answers = [answerOf(at, "AAPL", "150.00"), { ...answerOf(at, "MSFT", "300.00"), ...other }];
  await appendAll(world.journalDir, answers, { clock: createTestClock(at) });
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  const live = await archiveOf(world.pool);
  await world.pool.query(`
    update quotes set last = last + 1;
    insert into dividends select d.observed_at, d.instrument_id, s.id, d.ex_date, 9, 9
    from dividends d join sources s on s.name = 'other' where d.source_id = 1`);

  await run(["backfill", "--journal", "--rebuild"], world.env);

  expect(live["quotes"]?.rows).toBe(2);
  expect(await archiveOf(world.pool)).toEqual(live);
});

test("a rebuild of a journal leaves the rows of another journal's answer of the same time", async () => {
  const [world, other] = [await backfillWorld(), await backfillWorld()];
  const at = `${DAY}T15:00:00.000000Z`;
  const records = [answerOf(at, "AAPL", "150.00"), { ...answerOf(at, "MSFT", "300.00"), requestId: RUN }];
  for (const [place, { journalDir }] of [world, other].entries()) {
    await appendAll(journalDir, records.slice(place, place + 1), { clock: createTestClock(at) });
    await run(["backfill", "--journal", journalDir], world.env);
  }
  const live = await archiveOf(world.pool);

  await run(["backfill", "--journal", world.journalDir, "--rebuild"], world.env);

  expect(live["quotes"]?.rows).toBe(2);
  expect(await archiveOf(world.pool)).toEqual(live);
});

test("an interrupted rebuild is resumed, and gives every table the digest it had", async () => {
  const world: BackfillWorld = await backfillWorld();
  await journal(world.journalDir);
  // A slot of the first date that both dates tell of: each lacks what the other one has.
  for (const [day, name] of [
    ["2026-11-18", "AAPL"],
    ["2026-11-19", "IBM"],
  ] as const) {
    const told = settled(
      `${day}T14:40:00.000000Z`,
      "2026-11-18T14:39:00.000000Z",
      ["AAPL", "IBM"],
      [`${name} transport`],
    );
    await appendAll(world.journalDir, [told], { clock: createTestClock(`${day}T14:40:00.000Z`) });
  }
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  const live = await archiveOf(world.pool);
  // The account of a slot of the first date is told again on the second one, where it fails at first.
  await world.pool.query(`
    delete from misses;
    update instruments set description = 'nonsense';
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'not now' using errcode = '53100'; end $$;
    create trigger refuse before insert on responses for each row
      when (new.observed_at > '2026-11-19') execute function refuse()`);

  const first = await run(["backfill", "--journal", "--rebuild"], world.env);
  await world.pool.query("drop trigger refuse on responses; drop function refuse");
  const second = await run(["backfill", "--journal", "--rebuild", "--json"], world.env);

  expect(first.exitCode).toBe(1);
  expect(JSON.parse(second.stdout)).toMatchObject({ resumed: true, report: { answers: 15, stored: 20 } });
  expect(await archiveOf(world.pool)).toEqual(live);
});

test("a rebuild of some dates reads later notes of their slots, and leaves earlier slots alone", async () => {
  const world = await backfillWorld();
  const told = (at: Instant, slotAt: Instant, names: string[]): JournalRecord =>
    settled(
      at,
      slotAt,
      ["AAPL", "IBM"],
      names.map((name) => `${name} transport`),
    );
  // Slots at both ends of 18 November, New York, each told once within the date and once beside it.
  const [first, last] = ["2026-11-18T04:59:00.000000Z", "2026-11-19T04:59:00.000000Z"];
  await appendAll(
    world.journalDir,
    [
      told("2026-11-18T04:59:59.000000Z", first, ["AAPL"]),
      told("2026-11-18T05:00:09.000000Z", first, ["AAPL", "IBM"]),
      told("2026-11-19T04:59:59.000000Z", last, ["AAPL", "IBM"]),
      told("2026-11-19T05:00:09.000000Z", last, ["IBM"]),
    ],
    { clock: createTestClock("2026-11-18T05:00:00.000Z") },
  );
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
  const live = await archiveOf(world.pool);
  await world.pool.query("update slots set stored = due, missed = 0 where slot_at > '2026-11-18 12:00+00'");

  const dates = ["--from", "2026-11-18", "--to", "2026-11-18"];
  await run(["backfill", "--journal", "--rebuild", ...dates], world.env);

  expect(live["misses"]?.rows).toBe(2);
  expect(await archiveOf(world.pool)).toEqual(live);
});
