/** The ledger of accounts that one collector takes over from another, on Postgres: each has a journal of its own. */
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { readCoverage } from "../../src/archive/ledger/coverageRows.ts";
import { loadAll, type Loader, startLoader } from "../../src/archive/load/loader.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import type { LedgerNote, MissReason, Share } from "../../src/journal/ledger.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { openJournal } from "../../src/journal/writer.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createNoteWriter } from "../../src/ledger/ledgerNotes.ts";
import { Settler } from "../../src/ledger/settler.ts";
import { scheduleJob } from "../../src/schedule/jobSchedule.ts";
import { jobOf } from "../collect/jobOf.ts";
import { emptyArchive, rowsOfQuery } from "../support/archive.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { placeAccounts } from "../../src/archive/ledger/accountRows.ts";
import { freshDatabase } from "../support/database.ts";
import { answerRecord, appendAll, symbolsCall } from "../support/journal.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";

// Thousands of slots are settled, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const JOBS = [scheduleJob(jobOf({ name: "list", session: "always", symbols: ["AAPL"] }), alwaysOpen)];
const RUNS = { a: "01940000-0000-7000-8000-00000000000a", b: "01940000-0000-7000-8000-00000000000b" };
const on20th = (time: string): Date => new Date(`2026-11-20T${time.padEnd(8, ":00")}Z`);
const instant = (time: string) => instantFromDate(on20th(time));

let pool: pg.Pool;
const settlers: Pick<Settler, "close">[] = [];
beforeEach(async () => ({ pool } = await freshDatabase()));
const closeSettlers = () => Promise.all(settlers.splice(0).map((settler) => settler.close()));
afterEach(closeSettlers);

/** A note, at its time; default: behind all slots. */
const note = (content: LedgerNote, time = "14:34"): JournalRecord => ({
  ...{ kind: "note", at: instant(time), note: content },
});

/** What an account has of a slot at the end. */
function settled(
  account: string,
  time: string,
  due: string[],
  ...lost: [string, MissReason][]
): JournalRecord {
  return note(
    {
      type: "slots",
      source: "account",
      entries: [{ job: "list", slotAt: instant(time), account, due, misses: lost }],
    },
    `${time}:50`,
  );
}

function opened(run: string, account: string, time: string, due: string[]): JournalRecord {
  const slotAt = on20th(time);
  const endsAt = instantFromDate(new Date(+slotAt + 60_000));
  const slot = { job: "list", slotAt: instantFromDate(slotAt), endsAt };
  return note({ type: "opened", source: "account", run, ...slot, account, due }, time);
}

function answered(account: string, time: string, ...symbols: string[]): JournalRecord {
  const body = answerXml(...symbols.map((symbol) => equityXml(symbol)));
  return answerRecord(instant(time), body, { account, request: symbolsCall(...symbols) });
}

/** A collector's journal, and loading it; it may be away meanwhile. */
class Machine {
  readonly dir = tempDir();
  // By the machine's own clock and chance: segments of several journals have names of their own.
  readonly append = (...records: JournalRecord[]): Promise<void> =>
    appendAll(this.dir, records, { clock: systemClock });
  readonly load = () => loadAll({ pool, journalDir: this.dir, clock: createTestClock() });
}

/** A collector that is alive: its settler writes to its journal, which is loaded at once. */
async function alive(
  machine: Machine,
  {
    run = RUNS.b,
    mine,
    now,
    share = [],
    onSleep,
    underWay = [],
  }: {
    run?: string;
    /** What happens while the settler waits; then a downtime may be settled later. */
    onSleep?: (ms: number) => Promise<void>;
    mine: string[];
    now: string;
    /** What is due at each of its accounts now. */
    share?: string[];
    /** How many notes of others wait at each look at them; then none. */
    underWay?: number[];
  },
): Promise<{
  settler: Settler;
  take: (since?: Date) => Promise<void>;
  look: () => Promise<void>;
  loader: Loader;
  clock: TestClock;
  told: number;
  settled: number;
}> {
  const clock = {
    ...createTestClock(on20th(now).toISOString(), onSleep && { onSleep }),
    random: systemClock.random,
  };
  const journal = await openJournal({
    dir: machine.dir,
    clock,
    upkeep: false,
    onProblem: (why) => fail(why),
  });
  const alive = { told: 0, settled: 0 };
  const notes = createNoteWriter(journal, {
    ...{ clock, source: () => "account" as const, onKept: () => (alive.told += 1) },
    onLost: () => fail(new Error("a note was lost")),
  });
  // Its end is waited for, in real time: the last load of one that is closed would be in the next archive.
  const loader = startLoader({
    pool,
    journalDir: machine.dir,
    clock: { ...clock, sleep: systemClock.sleep },
  });
  const settler = new Settler(pool, {
    ...{ mine: () => mine, sources: () => new Set(["account" as const]), run, clock },
    notes: { ...notes, waiting: () => underWay.shift() ?? notes.waiting() },
    loader,
    collector: { jobs: JOBS, shareOf: () => share },
    unsettled: { settle: () => Promise.resolve(void (alive.settled += 1)) },
    log: { debug: fail, info: fail, warn: onSleep ? () => undefined : fail, error: fail },
  });
  settlers.push({
    close: () =>
      settler
        .close()
        .then(() => loader.close(60_000))
        .then(() => journal.close()),
  });
  const look = () =>
    settler
      .look()
      .then(machine.load)
      .then(() => undefined);
  const take = (since?: Date): Promise<void> => {
    settler.began(mine, since ?? null);
    return look();
  };
  return Object.assign(alive, { settler, take, look, loader, clock });
}

function fail(why: unknown): never {
  throw why;
}

/** Each share as `hh:mm account due=stored+missed: misses`. */
async function ledger(): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    `select to_char(slot_at, 'HH24:MI') || ' ' || a.name || ' ' || due || '=' || stored || '+' || missed || coalesce(
       (select ': ' || string_agg(instrument || ' ' || reason, ', ' order by instrument) from misses m
        where (m.job, m.slot_at, m.source_id, m.account_id) = (s.job, s.slot_at, s.source_id, s.account_id)), '') as share
     from slots s join accounts a on a.id = s.account_id order by slot_at, a.name`,
  );
  return rows.map(({ share }) => share);
}

describe("slots of an account that nobody called", () => {
  test("slots of an account that nobody called are down but for what is stored, whatever the other accounts have in them", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL", "GE"]), answered("one", "14:31:05", "AAPL"));
    await b.append(...["14:30", "14:31", "14:32"].map((time) => settled("two", time, ["KO"])));
    await a.load();
    await b.load();

    await (await alive(b, { mine: ["one", "two"], now: "14:33:20" })).take();

    expect(await ledger()).toEqual([
      ...["14:30 one 2=2+0", "14:30 two 1=1+0", "14:31 one 2=1+1: GE down", "14:31 two 1=1+0"],
      ...["14:32 one 2=0+2: AAPL down, GE down", "14:32 two 1=1+0"],
    ]);
  });

  test("a collector of other accounts notes no slots of an account that nobody called, and leaves its open slots alone", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL"]), opened(RUNS.a, "one", "14:31", ["AAPL"]));
    await b.append(settled("two", "14:32", ["KO"]));
    await a.load();
    await b.load();

    const other = await alive(b, { mine: ["two"], now: "14:33:20" });
    await other.take();
    await other.look();

    expect(other.told).toBe(0);
    expect(await rowsOfQuery(pool, "select run::text from open_slots")).toEqual([{ run: RUNS.a }]);
  });

  test("slots of an account that nobody called lack what had become another account's: an instrument is due in one share", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL", "GE", "watchlist MINE"]));
    await b.append(settled("two", "14:32", ["GE", "KO", "watchlist MINE"]));
    await a.load();
    await b.load();

    await (await alive(b, { mine: ["one"], now: "14:34:20" })).take();

    const without = "one 2=0+2: AAPL down, watchlist MINE down";
    expect((await ledger()).filter((share) => String(share).includes("one"))).toEqual([
      ...["14:30 one 3=3+0", "14:31 one 3=0+3: AAPL down, GE down, watchlist MINE down"],
      ...[`14:32 ${without}`, `14:33 ${without}`],
    ]);
  });

  test("slots that nobody called are down though another collector called the account after them, and ended before it had accounted for them", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL"]));
    await b.append(settled("one", "14:33", ["AAPL"]));
    await a.load();
    await b.load();

    await (await alive(a, { mine: ["one"], now: "14:35:20" })).take();

    expect(await ledger()).toEqual([
      ...["14:30 one 1=1+0", "14:31 one 1=0+1: AAPL down", "14:32 one 1=0+1: AAPL down", "14:33 one 1=1+0"],
      "14:34 one 1=0+1: AAPL down",
    ]);
  });
});

test("slots of an account are down since the last run before the first start that nobody has accounted for, however long ago", async () => {
  const b = new Machine();
  await b.append(settled("one", "14:00", ["AAPL"]), settled("one", "14:33", ["AAPL"]));
  await b.load();

  await (await alive(b, { mine: ["one"], now: "14:34:20" })).take(on20th("14:15:30"));

  const down = (await ledger()).filter(
    (share) => share === `${String(share).slice(0, 5)} one 1=0+1: AAPL down`,
  );
  expect(down).toHaveLength(32);
});

test("slots of an account are down while a collector that has called it before does not call it", async () => {
  const b = new Machine();
  await b.append(settled("one", "14:30", ["AAPL"]));
  await b.load();
  const collector = await alive(b, { mine: ["one"], now: "14:31:20" });
  await collector.take();
  await b.append(settled("one", "14:31", ["AAPL"]));
  await b.load();

  collector.settler.began(["one"], null, on20th("14:34:20"));
  await collector.look();

  expect(await ledger()).toEqual([
    ...["14:30 one 1=1+0", "14:31 one 1=1+0", "14:32 one 1=0+1: AAPL down", "14:33 one 1=0+1: AAPL down"],
  ]);
});

test("a downtime that the database does not let settle is settled 30 s later", async () => {
  const b = new Machine();
  await b.append(settled("one", "14:30", ["AAPL"]));
  await b.load();
  await pool.query("alter table epochs rename to elsewhere");
  const waits: number[] = [];
  const onSleep = async (ms: number): Promise<void> => {
    waits.push(ms);
    await pool.query("alter table elsewhere rename to epochs");
  };

  await (await alive(b, { mine: ["one"], now: "14:32:20", onSleep })).take();

  expect(waits).toEqual([30_000]);
  expect(await ledger()).toEqual(["14:30 one 1=1+0", "14:31 one 1=0+1: AAPL down"]);
});

test("a start whose slots are settled while another note is written is settled at the next look", async () => {
  const b = new Machine();
  await b.append(settled("one", "14:30", ["AAPL"]));
  await b.load();
  const collector = await alive(b, { mine: ["one"], now: "14:32:20", underWay: [1] });

  await collector.take();
  const before = collector.settled;
  await collector.look();
  await collector.look();

  expect([before, collector.settled]).toEqual([0, 1]);
});

describe("slots of an account that nobody has ever called", () => {
  /** A collector that runs since a time, and what all had agreed on at each time. */
  async function others(since: string, ...agreed: [from: string, accounts: string[]][]): Promise<void> {
    await pool.query(
      `insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
       values (gen_random_uuid(), 0, 'a', 'a', 1, 'a', '1', $1, clock_timestamp(), 0, false, 'same', '{}', '{}')`,
      [on20th(since)],
    );
    for (const [place, [from, accounts]] of agreed.entries())
      await pool.query(
        `insert into epochs (number, from_at, jobs_digest, accounts, prices, proposed_by) values ($1, $2, 'same', $3, 'null', 'a')`,
        [place + 1, on20th(from), accounts],
      );
  }

  /** The slots of the account whose collector came at 14:34, beside one that has begun the slot of 14:33 and the ones before. */
  async function slotsOfNewcomer(...before: JournalRecord[]): Promise<unknown[]> {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(
      ...["14:29", "14:30", "14:31", "14:32"].map((time) => settled("two", time, ["KO"])),
      opened(RUNS.a, "two", "14:33", ["GE", "KO"]),
      answered("one", "14:32:05", "AAPL"),
      ...before,
    );
    await a.load();
    await (await alive(b, { mine: ["one"], now: "14:34:20", share: ["AAPL", "GE"] })).take();
    return (await ledger()).filter((share) => String(share).includes("one"));
  }

  test("slots of an account that was never called are down since the first of the running collectors began", async () => {
    await others("14:31:30", ["14:31:45", ["one", "two"]], ["14:32:10", ["one", "two"]]);

    expect(await slotsOfNewcomer()).toEqual([
      ...["14:31 one 2=0+2: AAPL down, GE down", "14:32 one 2=1+1: GE down", "14:33 one 1=0+1: AAPL down"],
    ]);
  });

  test.each([
    ["since the first collector has begun", "14:31:30", [], ["14:31", "14:32"]],
    ["since the collectors have agreed on it", "14:20", ["14:21", "14:31:45.5"], ["14:32"]],
    [
      "since the first slot that is known, whoever runs now",
      "14:33:30",
      ["14:21"],
      ["14:29", "14:30", "14:31", "14:32"],
    ],
  ])(
    "slots of an account that was never called are down before the one slot of a collector that had no time to account for them: %s",
    async (_since, began, agreed, down) => {
      const accounts = (place: number): string[] => (place < agreed.length - 1 ? ["two"] : ["one", "two"]);
      await others(began, ...agreed.map((from, place): [string, string[]] => [from, accounts(place)]));

      const slots = await slotsOfNewcomer(settled("one", "14:33", ["AAPL", "GE"]));

      const lost = (time: string): string =>
        time === "14:32" ? `${time} one 2=1+1: GE down` : `${time} one 2=0+2: AAPL down, GE down`;
      expect(slots).toEqual([...down.map(lost), "14:33 one 2=2+0"]);
    },
  );

  test("slots of an account that was never called are down once the slots that others have begun are loaded, be it a minute later", async () => {
    await others("14:32:30");
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("two", "14:32", ["KO"]), settled("two", "14:33", ["KO"]));
    const comes = await alive(b, { mine: ["one"], now: "14:34:20", share: ["AAPL"] });
    await comes.take();
    expect(await ledger()).toEqual([]);

    await a.load();
    await comes.look();

    const two = (time: string): string => `${time} two 1=1+0`;
    const one = (time: string): string => `${time} one 1=0+1: AAPL down`;
    expect(await ledger()).toEqual([one("14:32"), two("14:32"), one("14:33"), two("14:33")]);
  });

  test("an account that was never called has no slots where no other collector runs, and none before the first slot of another collector", async () => {
    expect(await slotsOfNewcomer()).toEqual([]);
    await others("14:20");
    await pool.query("delete from slots; delete from open_slots");
    const last = await alive(new Machine(), { mine: ["one"], now: "14:34:20", share: ["AAPL"] });
    await last.take();
    expect(await ledger()).toEqual([]);
  });
});

describe("a clock that was set back", () => {
  test("a slot that a killed run left open in what is now the future is in the ledger at once, and once more when its time has come again", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(
      ...[settled("one", "14:30", ["AAPL", "GE"]), opened(RUNS.a, "one", "15:31", ["AAPL", "GE"])],
      answered("one", "15:31:10", "GE"),
    );
    await a.load();

    const next = await alive(b, { mine: ["one"], now: "14:30:40" });
    await next.take();

    expect(await ledger()).toEqual(["14:30 one 2=2+0", "15:31 one 2=1+1: AAPL down"]);
    expect(await rowsOfQuery(pool, "select run::text from open_slots")).toEqual([]);

    await b.append(
      ...[opened(RUNS.b, "one", "15:31", ["AAPL", "GE"]), answered("one", "15:31:20", "AAPL")],
      settled("one", "15:31", ["AAPL", "GE"], ["GE", "transport"]),
    );
    await b.load();
    expect(await ledger()).toEqual(["14:30 one 2=2+0", "15:31 one 2=2+0"]);
  });

  test("a slot that begins within two seconds, by the clock of another machine, is left to its time", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL"]), opened(RUNS.a, "one", "14:31", ["AAPL"]));
    await a.load();

    await (await alive(b, { mine: ["one"], now: "14:30:58.500" })).take();

    expect(await ledger()).toEqual(["14:30 one 1=1+0"]);
  });
});

describe("a journal that is loaded a day later", () => {
  test("a journal that is loaded a day later makes stored what was noted as down meanwhile, and what its run left open is settled then", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL", "GE"]));
    await a.load();
    await a.append(
      settled("one", "14:31", ["AAPL", "GE"], ["GE", "transport"]),
      opened(RUNS.a, "one", "14:32", ["AAPL", "GE"]),
      answered("one", "14:32:10", "GE"),
    );
    const other = await alive(b, { mine: ["one"], now: "14:34:20" });
    await other.take();
    const down = (time: string): string => `${time} one 2=0+2: AAPL down, GE down`;
    expect(await ledger()).toEqual(["14:30 one 2=2+0", down("14:31"), down("14:32"), down("14:33")]);

    await a.load();
    await other.look();

    expect(await ledger()).toEqual([
      ...["14:30 one 2=2+0", "14:31 one 2=1+1: GE transport", "14:32 one 2=1+1: AAPL down", down("14:33")],
    ]);
    const before = other.told;
    await other.look();
    expect(other.told).toBe(before);
  });

  test("a journal that is loaded a day later says for the first time what was due of an account, and the gap after it is noted", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(settled("one", "14:30", ["AAPL"]), opened(RUNS.a, "one", "14:31", ["AAPL"]));
    const other = await alive(b, { mine: ["one"], now: "14:33:20" });
    await other.take();
    expect(await ledger()).toEqual([]);

    // So long ago that slots before the take-over are looked through no more for what others have begun.
    other.clock.advance(200_000);
    await a.load();
    await other.look();

    expect(await ledger()).toEqual([
      ...["14:30 one 1=1+0", "14:31 one 1=0+1: AAPL down", "14:32 one 1=0+1: AAPL down"],
    ]);
  });

  test("answers that are loaded a day later count as stored once others have settled their slot, whatever else comes late meanwhile", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await a.append(opened(RUNS.a, "one", "14:31", ["AAPL", "GE"]));
    await a.load();
    const late = await alive(b, { mine: [], now: "20:00" });
    for (const time of ["14:31:20", "14:40:10"]) {
      await b.append(answered("one", time, "GE"));
      await late.loader.drain();
      await late.look();
    }

    await a.append(settled("one", "14:31", ["AAPL", "GE"], ["AAPL", "down"], ["GE", "down"]));
    await a.load();
    await late.look();

    expect(await ledger()).toEqual(["14:31 one 2=1+1: AAPL down"]);
  });

  test("a watchlist that is loaded a day later counts for the account that asked for it, and not for another one of that name", async () => {
    const [a, b] = [new Machine(), new Machine()];
    const due = "watchlist MINE";
    await a.append(...["one", "two"].map((account) => settled(account, "14:31", [due], [due, "down"])));
    await a.load();
    const late = await alive(b, { mine: [], now: "20:00" });
    const request = { form: "watchlist", watchlist: "MINE", delayed: false } as const;
    await b.append(
      answerRecord(instant("14:31:05"), answerXml(equityXml("AAPL")), { account: "two", request }),
    );

    await late.loader.drain();
    await late.look();

    expect(await ledger()).toEqual(["14:31 one 1=0+1: watchlist MINE down", "14:31 two 1=1+0"]);
  });

  test("a journal that is loaded later leaves the slot that lasts to the collector that calls the account now", async () => {
    const [a, b] = [new Machine(), new Machine()];
    await b.append(opened(RUNS.b, "one", "14:33", ["AAPL"]));
    await a.append(opened(RUNS.a, "one", "14:33", ["AAPL"]));
    const other = await alive(b, { mine: ["one"], now: "14:33:20" });
    await other.take();

    await a.load();
    await other.look();

    expect(other.told).toBe(0);
  });
});

test("two collectors' journals, loaded in any order, give the same slots, misses and coverage", async () => {
  const parts: JournalRecord[][] = [
    [
      settled("one", "14:30", ["AAPL", "GE"], ["GE", "budget"]),
      opened(RUNS.a, "one", "14:31", ["AAPL", "GE"]),
    ],
    [answered("one", "14:31:05", "AAPL"), settled("one", "14:32", ["AAPL", "GE"], ["AAPL", "transport"])],
    [
      settled("one", "14:31", ["AAPL", "GE"], ["GE", "down"]),
      settled("two", "14:31", ["KO"], ["KO", "overrun"]),
      note({ ...{ type: "down", source: "account", job: "list" }, ...downOf("one", "AAPL", "GE", "NEW") }),
    ],
    [settled("one", "14:33", ["AAPL", "GE", "NEW"], ["NEW", "refused"]), settled("two", "14:32", ["KO"])],
  ];
  const seen = new Set<string>();
  for (const order of permutations([0, 1, 2, 3])) {
    await emptyArchive(pool);
    for (const part of order) {
      const machine = new Machine();
      await machine.append(...(parts[part] ?? []));
      await machine.load();
    }
    const coverage = await readCoverage(pool, "2026-11-20", "2026-11-20");
    seen.add(JSON.stringify([await ledger(), coverage], null, 1));
    expect(
      await rowsOfQuery(pool, "select from slots where due <> stored + missed or due < 1 or missed < 0"),
    ).toEqual([]);
  }

  expect([...seen]).toHaveLength(1);
  expect(await ledger()).toEqual([
    ...["14:30 one 2=1+1: GE budget", "14:31 one 2=1+1: GE down", "14:31 two 1=0+1: KO overrun"],
    ...["14:32 one 3=1+2: AAPL transport, NEW down", "14:32 two 1=1+0", "14:33 one 3=2+1: NEW refused"],
  ]);
});

describe("a machine that returns a day later", () => {
  const TAKEN = "14:31:12";
  const parts: JournalRecord[][] = [
    [
      settled("one", "14:30", ["AAPL", "GE"], ["GE", "budget"]),
      opened(RUNS.a, "one", "14:31", ["AAPL", "GE", "KO"]),
    ],
    [opened(RUNS.b, "one", "14:31", ["AAPL", "GE", "KO"]), answered("one", "14:31:20", "AAPL")],
    [
      settled("one", "14:31", ["AAPL", "GE", "KO"], ["GE", "budget"], ["KO", "transport"]),
      settled("one", "14:32", ["AAPL", "GE", "KO"], ["GE", "budget"]),
      settled("two", "14:31", ["GE"], ["GE", "overrun"]),
      note({ type: "down", source: "account", job: "list", ...downOf("three", "GE") }),
    ],
  ];
  // The first and the last are of slots that did not change hands: the account was taken over in the one between.
  const late = ["14:30:05", "14:31:05", "14:32:05"].map((time) => answered("one", time, "GE"));
  const HEALED = [
    ...["14:30 one 2=1+1: GE budget", "14:31 one 3=2+1: KO transport", "14:31 two 1=0+1: GE overrun"],
    ...["14:32 one 3=2+1: GE budget", "14:32 three 1=1+0", "14:33 three 1=0+1: GE down"],
  ];

  async function takeOver(): Promise<void> {
    const [id] = await inTransaction(pool, (client) => placeAccounts(client, ["one"]));
    await pool.query(
      `insert into lease_history (account_id, fence, taken_at, holder, collector, how)
       values ($1, 2, $2, gen_random_uuid(), 'b', 'expired')`,
      [id, on20th(TAKEN)],
    );
  }

  const recount = () =>
    rowsOfQuery(
      pool,
      `select from slots s join due_sets d on d.id = s.due_set_id
       where s.due <> s.stored + s.missed or s.due <> cardinality(d.instruments) or s.missed <>
         (select count(*) from misses m where (m.job, m.slot_at, m.source_id, m.account_id) = (s.job, s.slot_at, s.source_id, s.account_id))`,
    );

  test("what the journal of a machine brings that returns a day later counts as stored once, in whatever order it comes", async () => {
    const seen = new Set<string>();
    const orders = permutations([0, 1, 2, 3]).filter((order) => order.indexOf(1) < order.indexOf(2));
    for (const order of orders) {
      await closeSettlers();
      await emptyArchive(pool);
      await takeOver();
      const holder = await alive(new Machine(), { mine: ["one"], now: "20:00" });
      const returning = new Machine();
      let a: Awaited<ReturnType<typeof alive>> | null = null;
      for (const part of order) {
        const records = parts[part] ?? late;
        const machine = parts[part] ? new Machine() : returning;
        await machine.append(...records);
        // Whoever comes with something late looks whether it fills a slot; at the end everything is there.
        const comes = await alive(machine, { mine: [], now: "20:00" });
        await comes.loader.drain();
        await comes.look();
        if (machine === returning) a = comes;
      }
      // What A opened may have come after all else.
      await holder.look();
      await a?.look();
      expect(await ledger()).toEqual(HEALED);
      expect(await recount()).toEqual([]);
      seen.add(JSON.stringify(await readCoverage(pool, "2026-11-20", "2026-11-20")));
      const told = a?.told;
      await a?.look();
      expect(a?.told).toBe(told);
    }
    expect([...seen]).toHaveLength(1);
  });
});

/** Two slots of an account in which nobody called it. */
function downOf(account: string, ...due: string[]): Share & { slots: string[] } {
  return { account, due, slots: [instant("14:32"), instant("14:33")] };
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, place) =>
    permutations([...items.slice(0, place), ...items.slice(place + 1)]).map((rest) => [item, ...rest]),
  );
}
