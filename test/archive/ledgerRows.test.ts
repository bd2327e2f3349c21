/** The ledger in the database: what was due, what came of it, and the slots in which nothing ran. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { readLastShares } from "../../src/archive/ledger/knownShares.ts";
import { readStoredWithin } from "../../src/archive/ledger/storedWithin.ts";
import { EarlierRuns } from "../../src/collect/earlierRuns.ts";
import { loadAll } from "../../src/archive/load/loader.ts";
import { readCoverage, readUnknownInstruments } from "../../src/archive/ledger/coverageRows.ts";
import { accountForDowntime, accountForLeftOpen } from "../../src/ledger/pastSlotNotes.ts";
import { downtimeNotes } from "../../src/collect/downtime.ts";
import { scheduleJob } from "../../src/schedule/jobSchedule.ts";
import type { Job } from "../../src/schedule/readJobs.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import type { JournalRecord, ResponseRecord } from "../../src/journal/record.ts";
import type { LedgerNote } from "../../src/journal/ledger.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { jobOf } from "../collect/jobOf.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, at, symbolsCall } from "../support/journal.ts";
import { insertNotes, instantOn20th, on20th, settled, slotNote } from "../support/ledger.ts";
import { type LoadingWorld, loadingWorld } from "../support/loading.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query("truncate slots, misses, due_sets cascade");
});

const load = (...notes: LedgerNote[]): Promise<number> => insertNotes(pool, ...notes);

/** Every slot as `hh:mm due=stored+missed`. */
async function slots(job = "list"): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    `select to_char(slot_at, 'HH24:MI') || ' ' || due || '=' || stored || '+' || missed as slot
     from slots where job = $1 order by slot_at`,
    [job],
  );
  return rows.map(({ slot }) => slot);
}

async function misses(): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    `select to_char(slot_at, 'HH24:MI') || ' ' || instrument || ' ' || reason as miss
     from misses order by slot_at, instrument`,
  );
  return rows.map(({ miss }) => miss);
}

/** The jobs with a schedule of the exchange. */
function scheduled(...jobs: Job[]): ReturnType<typeof scheduleJob>[] {
  return jobs.map((job) => scheduleJob(job, createCalendar()));
}

test("a slot that is loaded twice is stored once", async () => {
  const note = slotNote("14:30", ["AAPL", "GE"], { GE: "budget" });

  const counts = [await load(note), await load(note), await load(note, note)];

  expect(counts).toEqual([1, 0, 0]);
  expect(await slots()).toEqual(["14:30 2=1+1"]);
  expect(await misses()).toEqual(["14:30 GE budget"]);
});

test("a slot that two runs settled has stored what either of them stored", async () => {
  await load(slotNote("14:30", ["AAPL", "GE", "KO"], { GE: "down", KO: "down" }));
  await load(slotNote("14:30", ["KO", "GE", "AAPL"], { AAPL: "refused", KO: "refused" }));

  expect(await slots()).toEqual(["14:30 3=2+1"]);
  expect(await misses()).toEqual(["14:30 KO refused"]);
});

test("a simulated slot never stands for an account's: each has its own row, downtime and coverage", async () => {
  await load({ ...slotNote("14:30", ["AAPL"]), source: "simulated" });
  await load(slotNote("14:30", ["AAPL"], { AAPL: "transport" }));

  const rows = await rowsOfQuery(
    pool,
    `select s.kind, due, stored, missed from slots join sources s on s.id = source_id order by 1`,
  );
  expect(rows).toEqual([
    { kind: "account", due: 1, stored: 0, missed: 1 },
    { kind: "simulated", due: 1, stored: 1, missed: 0 },
  ]);
  const coverage = await readCoverage(pool, "2026-11-20", "2026-11-20");
  expect(coverage.map(({ source, stored }) => [source, stored])).toEqual([
    ["account", 0],
    ["simulated", 1],
  ]);
  const before = new Map([["list", on20th("15:00")]]);
  await load({ ...slotNote("14:40", ["AAPL"]), source: "simulated" });
  const whose = { source: "account", accounts: ["default"] } as const;
  expect(await readLastShares(pool, whose, before)).toMatchObject([{ slotAt: on20th("14:30") }]);
});

describe("slots that passed while nothing ran", () => {
  const job = jobOf({ name: "list", session: "regular", symbols: ["AAPL", "GE"] });

  async function restartAt(time: Date, ...jobs: Job[]): Promise<void> {
    await load(
      ...(await accountForDowntime(pool, {
        source: "account",
        accounts: ["default"],
        jobs: scheduled(...jobs),
        startedAt: time,
      })),
    );
  }

  test("slots that passed while nothing ran are accounted for once, however often and however late", async () => {
    await load(slotNote("14:30", ["AAPL", "GE"]));
    const late = [slotNote("14:33", ["AAPL", "GE"]), slotNote("14:34", ["AAPL", "GE"])];

    // The database was away: the new run's own slots are loaded before the downtime is looked up.
    await load(...late);
    await restartAt(on20th("14:33:20"), job);
    await restartAt(on20th("14:33:20"), job);

    expect(await slots()).toEqual([
      ...["14:30 2=2+0", "14:31 2=0+2", "14:32 2=0+2", "14:33 2=2+0", "14:34 2=2+0"],
    ]);
  });

  test("slots that passed over a night and a weekend are those of the sessions alone", async () => {
    await load(slotNote("20:57", ["AAPL", "GE"]));

    await restartAt(new Date("2026-11-23T14:31:30Z"), job);

    const times = await rowsOfQuery(pool, "select slot_at::text as at from slots order by slot_at");
    expect(times.map(({ at }) => at)).toEqual([
      "2026-11-20 20:57:00+00",
      "2026-11-20 20:58:00+00",
      "2026-11-20 20:59:00+00",
      "2026-11-23 14:30:00+00",
    ]);
  });

  test("a job that never ran before has no slots that passed", async () => {
    await restartAt(on20th("15:30"), job);

    expect(await slots()).toEqual([]);
  });

  test("an interrupted slot counts what had been stored when the program was killed", async () => {
    const dir = tempDir();
    const at = instantOn20th("14:31:02");
    const answer = answerRecord(at, answerXml(equityXml("AAPL")), { request: symbolsCall("AAPL") });
    await appendAll(dir, [answer]);
    await loadAll({ pool, journalDir: dir, clock: createTestClock() });
    await load(slotNote("14:30", ["AAPL", "GE"]));

    await restartAt(on20th("14:33:20"), job);

    expect(await slots()).toEqual(["14:30 2=2+0", "14:31 2=1+1", "14:32 2=0+2"]);
    expect(await misses()).toEqual(["14:31 GE down", "14:32 AAPL down", "14:32 GE down"]);
    const windows = [{ from: on20th("14:31"), to: on20th("14:32") }];
    const delayed = await readStoredWithin(pool, windows, {
      source: "account",
      instruments: ["AAPL"],
      delayed: true,
    });
    expect(delayed.size).toBe(0);
  });

  test("a long downtime has one miss a slot, and coverage still adds up for each instrument", async () => {
    const due = Array.from({ length: 400 }, (_, index) => `S${index}`);
    await load(slotNote("14:29", due));
    const long = jobOf({ name: "list", symbols: due });

    await restartAt(on20th("20:00:30"), long);

    const [counts] = await rowsOfQuery(
      pool,
      "select count(*)::int as slots, sum(due)::int as due, sum(stored + missed)::int as sum, (select count(*)::int from misses) as misses from slots",
    );
    expect(counts).toEqual({ slots: 331, due: 331 * 400, sum: 331 * 400, misses: 330 });
    const rows = await readCoverage(pool, "2026-11-20", "2026-11-20");
    expect(rows).toHaveLength(400);
    expect(rows[0]).toMatchObject({ expected: 331, stored: 1, missed: 330, reasons: { down: 330 } });
  });

  test("a downtime of 100,000 slots makes notes that the journal can hold", () => {
    const slotAt = on20th("14:30");
    const year = Array.from({ length: 100_000 }, (_, minute) => ({
      slotAt: new Date(slotAt.getTime() - minute * 60_000),
      stored: new Set<string>(),
    }));

    const notes = downtimeNotes("list", [{ due: ["AAPL"] }], year);

    expect(Math.max(...notes.map((note) => JSON.stringify(note).length))).toBeLessThan(1_000_000);
    expect(notes.flatMap((note) => (note.type === "down" ? note.slots : []))).toHaveLength(100_000);
  });
});

test("unknown instruments are those of the newest slot of each job", async () => {
  await load(
    slotNote("14:30", ["AAPL", "OLD"], { OLD: "unknown_symbol" }),
    slotNote("14:31", ["AAPL", "OLD", "GE"], { GE: "budget" }),
    slotNote("14:31", ["NEW"], { NEW: "unknown_symbol" }, { job: "other" }),
    slotNote("14:31", ["GONE"], { GONE: "unknown_symbol" }, { job: "removed" }),
  );

  expect(await readUnknownInstruments(pool, ["list", "other"], "account")).toEqual(["NEW"]);
});

const entry = (due: string[], second = 0): JournalRecord =>
  settled(at(second + 59), at(second), due, [], { job: "list" });
/** A price that a constraint refuses. */
const bad = (symbol: string): string => equityXml(symbol, { quote: { lastprice: "666" } });
const refusing = async (): Promise<LoadingWorld> => {
  const world = await loadingWorld();
  await world.pool.query("alter table quotes add constraint poison check (last <> 666)");
  return world;
};
const watchlist: QuoteCall = { form: "watchlist", watchlist: "MINE", delayed: false };

test("a row that the database refuses is missed at its slot as malformed, though the collector counted it as stored", async () => {
  const world = await refusing();
  await world.append(
    answerRecord(at(5), answerXml(equityXml("A"), bad("BAD")), { request: symbolsCall("A", "BAD") }),
    entry(["A", "BAD"]),
    answerRecord(at(65), answerXml(equityXml("A"), equityXml("BAD")), {
      request: symbolsCall("A", "BAD"),
    }),
    entry(["A", "BAD"], 60),
  );

  expect(await world.load()).toMatchObject({ slots: 2, deadLetters: 1 });
  await world.forgetPositions();
  await world.load();

  expect(await rowsOfQuery(world.pool, LEDGER)).toEqual([
    { slot: "22:50 2=1+1", missed: "BAD malformed" },
    { slot: "22:51 2=2+0", missed: null },
  ]);
  const coverage = await readCoverage(world.pool, "2026-11-20", "2026-11-20");
  expect(coverage.map(({ instrument, stored, missed }) => [instrument, stored, missed])).toEqual([
    ["BAD", 1, 1],
    ["A", 2, 0],
  ]);
});

describe("a row that the database refuses", () => {
  test("a row that the database refuses is no miss if the instrument has another quote of the slot's time", async () => {
    const world = await refusing();
    await world.append(
      answerRecord(at(5), answerXml(bad("BAD")), { request: symbolsCall("BAD") }),
      answerRecord(at(9), answerXml(equityXml("BAD")), { request: symbolsCall("BAD") }),
      entry(["BAD"]),
    );
    await world.load();

    expect(await rowsOfQuery(world.pool, LEDGER)).toEqual([{ slot: "22:50 1=1+0", missed: null }]);
  });

  test("a row that the database refuses leaves its watchlist stored while another row of it is, and else missed", async () => {
    const world = await refusing();
    await world.append(
      answerRecord(at(5), answerXml(equityXml("A"), bad("BAD")), { request: watchlist }),
      entry(["watchlist MINE"]),
      answerRecord(at(65), answerXml(bad("BAD")), { request: watchlist }),
      entry(["watchlist MINE"], 60),
    );
    await world.load();

    expect(await rowsOfQuery(world.pool, LEDGER)).toEqual([
      { slot: "22:50 1=1+0", missed: null },
      { slot: "22:51 1=0+1", missed: "watchlist MINE malformed" },
    ]);
  });
});

describe("a whole chain", () => {
  const NAME = "chain SPX:2026-12-18";
  const chain: QuoteCall = { form: "chain", underlying: "SPX", expiration: "2026-12-18", delayed: false };
  const contract = (strike: string, last = "1.5"): string =>
    `{"symbol":"SPXW261218C${strike.padStart(5, "0")}000","type":"option","last":${last},"underlying":"SPX","root_symbol":"SPXW","strike":${strike},"option_type":"call","expiration_date":"2026-12-18"}`;
  const answered = (second: number, ...contracts: string[]): ResponseRecord => ({
    ...answerRecord(at(second), `{"options":{"option":[${contracts.join()}]}}`, { request: chain }),
    service: "tradier",
    source: { kind: "account", name: "tradier" },
  });

  test("a whole chain is stored while any row of it is, and else missed as malformed", async () => {
    const world = await loadingWorld();
    await world.pool.query("alter table quotes add constraint poison check (last <> 666)");
    await world.append(
      answered(5, contract("5000"), contract("5100", "666")),
      entry([NAME]),
      answered(65, contract("5000", "666")),
      entry([NAME], 60),
    );
    await world.load();

    expect(await rowsOfQuery(world.pool, LEDGER)).toEqual([
      { slot: "22:50 1=1+0", missed: null },
      { slot: "22:51 1=0+1", missed: `${NAME} malformed` },
    ]);
  });

  const page = (
    second: number,
    asked: string | null,
    next: string | null,
    status = 200,
    ...strikes: string[]
  ) => {
    const quote = { latestQuote: { t: "2026-11-20T15:00:00Z", bp: 1, ap: 2 } };
    const snapshots = Object.fromEntries(strikes.map((strike) => [`SPX261218C0${strike}000`, quote]));
    const request: QuoteCall = {
      ...chain,
      feed: "opra",
      spotFeed: "iex",
      ...(asked !== null && { page: asked }),
    };
    const body = status === 200 ? { snapshots, next_page_token: next } : { message: "an error" };
    return {
      ...answerRecord(at(second), JSON.stringify(body), { request }),
      ...{ status, service: "alpaca", source: { kind: "account" as const, name: "alpaca opra beside iex" } },
    };
  };
  const first = page(5, null, "b", 200, "5000");

  test.each([
    ["its first page alone", [first], []],
    ["a second page that met an error", [first, page(6, "SPX b", null, 500)], []],
    ["a first page that met an error before", [page(4, null, null, 503), first], []],
    ["its last page alone", [page(6, "SPXW c", null, 200, "5100")], []],
    ["pages without a row", [page(5, null, "b"), page(6, "SPXW c", null)], []],
    [
      "its first page and its last",
      [first, page(6, "SPX b", "c"), page(7, "SPX c", null), page(8, "SPXW", null)],
      [NAME],
    ],
  ])(
    "of a chain in pages %s says as much in the archive as in the journal: %#",
    async (_what, records, names) => {
      const world = await loadingWorld();
      await world.append(...records);
      await world.load();
      const [from, to] = [on20th("22:50"), on20th("22:51")];
      const earlier = new EarlierRuns(from.getTime());
      for (const record of records) earlier.add({ ...record, request: record.request as QuoteCall });

      const share = { source: "account" as const, instruments: [NAME], delayed: false };
      const stored = await readStoredWithin(world.pool, [{ from, to }], share);

      expect([...(stored.get(0) ?? [])]).toEqual(names);
      expect([...earlier.storedWithin({ delayed: false }, from.getTime(), to.getTime())]).toEqual(names);
    },
  );

  test("a whole chain counts as stored within a slot whichever account asked for it, and another date of it does not", async () => {
    const world = await loadingWorld();
    await world.append({ ...answered(5, contract("5000")), account: "second" });
    await world.load();
    const windows = [{ from: on20th("22:50"), to: on20th("22:51") }];
    const instruments = [NAME, "chain SPX:2026-12-17"];

    const stored = await readStoredWithin(world.pool, windows, {
      source: "account",
      instruments,
      delayed: false,
    });

    expect([...(stored.get(0) ?? [])]).toEqual([NAME]);
  });
});

describe("a slot that a killed run left open", () => {
  const RUN = "01940000-0000-7000-8000-000000000001";
  const opened = (run: string, due = ["A", "B", "watchlist MINE"]): JournalRecord => ({
    kind: "note",
    at: at(0),
    note: {
      ...{ type: "opened", run, job: "list", slotAt: at(0), endsAt: at(60), due },
    },
  });

  test("a slot that a killed run left open is settled by what was asked for within it, also if the answer came after its end", async () => {
    const world = await loadingWorld();
    await world.append(
      opened(RUN),
      answerRecord(at(5), answerXml(equityXml("A")), { request: symbolsCall("A"), requestedAt: at(4) }),
      // Asked for within the slot, and answered after it; and the other way round.
      answerRecord(at(61), answerXml(equityXml("X")), {
        ...{ request: { form: "watchlist", watchlist: "MINE", delayed: false }, requestedAt: at(59.9) },
      }),
      answerRecord(at(62), answerXml(equityXml("B")), { request: symbolsCall("B"), requestedAt: at(60) }),
    );
    await world.load();
    const now = { run: "01940000-0000-7000-8000-000000000002", now: on20th("22:53") };
    const jobs = [{ job: jobOf({ name: "list" }) }];

    const notes = await accountForLeftOpen(world.pool, {
      source: "account",
      accounts: ["default"],
      jobs,
      ...now,
    });
    await world.append(...notes.map((note): JournalRecord => ({ kind: "note", at: at(180), note })));
    await world.load();

    expect(await rowsOfQuery(world.pool, LEDGER)).toEqual([{ slot: "22:50 3=2+1", missed: "B down" }]);
    expect(
      await accountForLeftOpen(world.pool, { source: "account", accounts: ["default"], jobs, ...now }),
    ).toEqual([]);
  });

  test("a slot that a killed run left open is left to the run that has opened it again", async () => {
    const world = await loadingWorld();
    await world.append(opened(RUN), opened("01940000-0000-7000-8000-000000000002"));
    await world.load();

    const now = { run: "01940000-0000-7000-8000-000000000002", now: on20th("22:50") };
    expect(
      await accountForLeftOpen(world.pool, { source: "account", accounts: ["default"], jobs: [], ...now }),
    ).toEqual([]);
  });
});

test("an open slot is closed by an entry of its run, whichever market answered, and by no other run's of another market", async () => {
  const [own, other] = ["0a", "0b"].map((end) => `01940000-0000-7000-8000-0000000000${end}`);
  const slotAt = instantFromDate(on20th("14:30"));
  const entry = { ...slotNote("14:30", ["A"]), source: "simulated" as const };
  const open = () => rowsOfQuery(pool, "select run::text from open_slots");
  await load({
    ...{ type: "opened", run: own ?? "", job: "list" },
    ...{ slotAt, endsAt: instantFromDate(on20th("14:31")), due: ["A"] },
  });

  await load({ ...entry, run: other ?? "" } as LedgerNote);
  const before = await open();
  await load({ ...entry, run: own ?? "" } as LedgerNote);

  expect([before, await open()]).toEqual([[{ run: own }], []]);
});

test("a watchlist counts as stored for its own account, and an answer also where its time is late because the clock was set back", async () => {
  const world = await loadingWorld();
  const watchlist: QuoteCall = { form: "watchlist", watchlist: "MINE", delayed: false };
  await world.append(
    answerRecord(at(5), answerXml(equityXml("X")), { request: watchlist, account: "second" }),
    {
      kind: "note",
      at: at(6),
      note: { type: "clock", source: "account", at: at(6), kind: "set_back", stepMs: -3_600_000 },
    },
    answerRecord(at(3_610), answerXml(equityXml("A")), { request: symbolsCall("A"), requestedAt: at(10) }),
  );
  await world.load();
  const windows = [{ from: on20th("22:50"), to: on20th("22:51") }];
  const wanted = { source: "account" as const, instruments: ["A", "watchlist MINE"], delayed: false };

  const stored = await Promise.all(
    ["default", "second"].map((account) => readStoredWithin(world.pool, windows, { ...wanted, account })),
  );

  expect(stored.map((names) => [...(names.get(0) ?? [])].sort())).toEqual([["A"], ["A", "watchlist MINE"]]);
});

/** Each slot, and what was missed of it. */
const LEDGER = `
  select to_char(slot_at, 'HH24:MI') || ' ' || due || '=' || stored || '+' || missed as slot,
         (select string_agg(instrument || ' ' || reason, ', ') from misses m
          where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id) as missed
  from slots s order by slot_at`;

describe("coverage: expected against stored, by instrument and day of the exchange", () => {
  test("the worst comes first, with its reasons counted, and what was never missed is there too", async () => {
    await load(slotNote("14:30", ["AAPL", "GE", "KO"], { KO: "budget", GE: "budget" }));
    await load(slotNote("14:31", ["AAPL", "GE", "KO"], { KO: "unknown_symbol" }));

    const rows = await readCoverage(pool, "2026-11-20", "2026-11-20");

    const day = { date: "2026-11-20", source: "account", expected: 2 };
    expect(rows).toEqual([
      { ...day, instrument: "KO", stored: 0, missed: 2, reasons: { budget: 1, unknown_symbol: 1 } },
      { ...day, instrument: "GE", stored: 1, missed: 1, reasons: { budget: 1 } },
      { ...day, instrument: "AAPL", stored: 2, missed: 0, reasons: {} },
    ]);
  });

  test("a slot counts for the day that the exchange's clocks show at it", async () => {
    await load(slotNote(new Date("2026-11-21T00:30:00Z"), ["AAPL"]));
    await load(slotNote(new Date("2026-11-21T05:30:00Z"), ["AAPL"]));

    const rows = await readCoverage(pool, "2026-11-20", "2026-11-21");

    expect(rows.map(({ date, expected }) => [date, expected])).toEqual([
      ["2026-11-20", 1],
      ["2026-11-21", 1],
    ]);
  });

  test("an instrument of two jobs is expected by both", async () => {
    await load(slotNote("14:30", ["AAPL"], {}, { job: "one" }));
    await load(slotNote("14:30", ["AAPL"], { AAPL: "down" }, { job: "other" }));

    expect(await readCoverage(pool, "2026-11-20", "2026-11-20")).toMatchObject([
      { expected: 2, stored: 1, missed: 1 },
    ]);
  });
});
