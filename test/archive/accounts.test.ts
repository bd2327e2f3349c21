/** Which account did what: of answers, and of the shares that accounts have of a slot. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { readOtherCalls } from "../../src/archive/ledger/budgetUse.ts";
import {
  readCoverage,
  readCoverageShares,
  readSlotsSince,
  readUnknownInstruments,
  sumByAccount,
} from "../../src/archive/ledger/coverageRows.ts";
import { readCoverageView, readMisses } from "../../src/archive/ask/coverageView.ts";
import { readMissedBars } from "../../src/archive/ask/missedBars.ts";
import { placeAccounts } from "../../src/archive/ledger/accountRows.ts";
import { loadAll } from "../../src/archive/load/loader.ts";
import { fillSlots } from "../../src/archive/refill/fillSlots.ts";
import { listHoles } from "../../src/archive/refill/listHoles.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import type { LedgerNote } from "../../src/journal/ledger.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import type { QuoteCall } from "../../src/quotes/call.ts";
import { accountForDowntime, accountForLeftOpen } from "../../src/ledger/pastSlotNotes.ts";
import { scheduleJob } from "../../src/schedule/jobSchedule.ts";
import { jobOf } from "../collect/jobOf.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { answerRecord, appendAll, at, symbolsCall } from "../support/journal.ts";
import { insertNotes, instantOn20th, on20th, settled, slotNote } from "../support/ledger.ts";
import { loadingWorld } from "../support/loading.ts";
import { tempDir } from "../support/tempDir.ts";
import { answerXml, equityXml } from "../support/xml.ts";

const { pool } = await freshDatabase();

beforeEach(async () => {
  await pool.query(
    "truncate journal_positions, slots, open_slots, misses, fills, due_sets, quotes, extended_quotes, responses cascade",
  );
});

const load = (...notes: LedgerNote[]): Promise<number> => insertNotes(pool, ...notes);

const SHARES = `
  select to_char(slot_at, 'HH24:MI') || ' ' || a.name || ' ' || due || '=' || stored || '+' || missed as share,
    (select string_agg(m.instrument || ' ' || m.reason, ', ' order by m.instrument) from misses m
     where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id and m.account_id = s.account_id) as missed
  from slots s join accounts a on a.id = s.account_id order by slot_at, a.name`;

const shares = async (): Promise<unknown[]> =>
  (await rowsOfQuery(pool, SHARES)).map(({ share, missed }) => (missed ? `${share}: ${missed}` : share));

const ACCOUNTS_OF_ANSWERS =
  "select a.name as account from responses r join accounts a on a.id = r.account_id order by observed_at";

describe("an answer", () => {
  const asked = (second: number, account: string | undefined, ...symbols: string[]): JournalRecord =>
    answerRecord(at(second), answerXml(...symbols.map((symbol) => equityXml(symbol))), {
      request: symbolsCall(...symbols),
      ...(account !== undefined && { account }),
    });
  const records = [
    asked(0, undefined, "A"),
    asked(1, "second", "B"),
    asked(2, "third", "C"),
    asked(3, "second", "A"),
  ];
  const accounts = ["default", "second", "third", "second"].map((account) => ({ account }));

  test("an answer belongs to the account that asked, and to the default one if its record names none", async () => {
    const world = await loadingWorld();
    await world.append(...records);
    await world.load();
    await world.forgetPositions();
    await world.load();

    expect(await rowsOfQuery(world.pool, ACCOUNTS_OF_ANSWERS)).toEqual(accounts);
    expect(await rowsOfQuery(world.pool, "select id, name from accounts order by id")).toEqual(
      ["default", "second", "third"].map((name, place) => ({ id: place + 1, name })),
    );
  });

  test("answers keep their accounts if the database refuses a row and batches are loaded one by one", async () => {
    const world = await loadingWorld();
    await world.pool.query("alter table quotes add constraint poison check (last <> 666)");
    const bad = answerXml(equityXml("BAD", { quote: { lastprice: "666" } }));
    await world.append(
      ...records,
      answerRecord(at(4), bad, { account: "fourth", request: symbolsCall("BAD") }),
    );

    expect(await world.load()).toMatchObject({ responses: 5, deadLetters: 1 });

    expect(await rowsOfQuery(world.pool, ACCOUNTS_OF_ANSWERS)).toEqual([...accounts, { account: "fourth" }]);
  });

  test("the service's count of an account is compared with the answers of that account alone", async () => {
    const now = new Date(Date.UTC(2026, 10, 20, 23));
    const counted = (account: string, used: number, minute: number) =>
      answerRecord(at(60 * minute + used), answerXml(equityXml("A")), {
        ...{ account, request: symbolsCall("A") },
        headers: { "x-ratelimit-used": String(used), "x-ratelimit-limit": "60" },
      });
    const minutes = [5, 6, 7, 8, 9];
    const dir = tempDir();
    // One account has 10 calls a minute counted, and made one; the other one's calls are its own.
    await appendAll(
      dir,
      minutes.flatMap((minute) => [
        ...[1, 2, 3, 4, 5, 6, 7, 8].map((used) => counted("busy", used, minute)),
        counted("shared", 10, minute),
      ]),
    );
    await loadAll({ pool, journalDir: dir, clock: createTestClock() });

    const callers = ["shared", "busy", "default", "unheard of"].map((name) => ({
      name,
      limitWindowMs: 60_000,
    }));
    expect(await readOtherCalls(pool, callers, now)).toEqual(new Map([["shared", 8]]));
  });
});

test("loaders that name new accounts at the same time give each one number, the lowest ones that are free", async () => {
  const database = await freshDatabase();
  await database.pool.query("insert into accounts (id, name) values (3, 'three'), (32767, 'last')");
  const loaders = Array.from({ length: 8 }, () => poolOn(database.url, { max: 1 }));

  const numbers = await Promise.all(
    loaders.map((loader, place) =>
      inTransaction(loader, (client) =>
        placeAccounts(client, [`own ${place}`, "common", "default", "common"]),
      ),
    ),
  );

  const rows = await rowsOfQuery(database.pool, "select id, name from accounts order by id");
  const idOf = new Map(rows.map(({ name, id }) => [name, id]));
  expect(rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 32_767]);
  numbers.forEach((found, place) =>
    expect(found).toEqual([`own ${place}`, "common", "default", "common"].map((name) => idOf.get(name))),
  );
});

describe("a slot of which two accounts have shares", () => {
  const NOTES = [
    slotNote("14:30", ["AAPL", "GE"], { GE: "budget" }),
    slotNote("14:30", ["IBM", "KO", "T"], { KO: "unknown_symbol" }, { account: "second" }),
    slotNote("14:31", ["AAPL", "GE"]),
    slotNote("14:31", ["IBM", "KO", "T"], { KO: "unknown_symbol", T: "budget" }, { account: "second" }),
  ];

  test("a slot that two accounts share has a row for each, and a repeated note of one changes nothing of the other", async () => {
    expect(await load(...NOTES)).toBe(4);
    expect(await load(...NOTES)).toBe(0);
    expect(await load(slotNote("14:30", ["IBM", "KO", "T"], { IBM: "down" }, { account: "second" }))).toBe(0);

    expect(await shares()).toEqual([
      "14:30 default 2=1+1: GE budget",
      "14:30 second 3=3+0",
      "14:31 default 2=2+0",
      "14:31 second 3=1+2: KO unknown_symbol, T budget",
    ]);
  });

  test("the two shares of a slot add up wherever they are read, and count as one slot", async () => {
    await load(...NOTES);

    const coverage = await readCoverage(pool, "2026-11-20", "2026-11-20");
    expect(
      coverage.map(({ instrument, expected, stored }) => `${instrument} ${stored} of ${expected}`),
    ).toEqual(["KO 0 of 2", "GE 1 of 2", "T 1 of 2", "AAPL 2 of 2", "IBM 2 of 2"]);
    const day = { from: "2026-11-20", to: "2026-11-20" };
    const parts = await readCoverageShares(pool, day);
    expect(parts.map(({ account: _account, ...row }) => row)).toEqual(coverage);
    expect(await readCoverageShares(pool, { ...day, account: "second" })).toEqual(
      parts.filter(({ account }) => account === "second"),
    );
    expect(await readCoverageShares(pool, { from: "2026-11-21", to: "2026-11-22" })).toEqual([]);
    expect(sumByAccount(parts)).toEqual([
      { account: "default", source: "account", expected: 4, stored: 3, missed: 1, reasons: { budget: 1 } },
      {
        ...{ account: "second", source: "account", expected: 6, stored: 3, missed: 3 },
        reasons: { budget: 1, unknown_symbol: 2 },
      },
    ]);
    const rows = await rowsOfQuery(
      pool,
      `select a.name as account, sum(due)::int as expected, sum(stored)::int as stored, sum(missed)::int as missed
       from slots join accounts a on a.id = account_id group by 1 order by 1`,
    );
    expect(sumByAccount(parts)).toMatchObject(rows);
    expect(await readUnknownInstruments(pool, ["list"], "account")).toEqual(["KO"]);
    const since = { jobs: ["list"], source: "account", since: on20th("14:00") } as const;
    const lastAt = on20th("14:31");
    expect(await readSlotsSince(pool, since)).toEqual({
      due: 10,
      misses: [
        { job: "list", reason: "unknown_symbol", account: "second", count: 2, lastAt },
        { job: "list", reason: "budget", account: "default", count: 1, lastAt: on20th("14:30") },
        { job: "list", reason: "budget", account: "second", count: 1, lastAt },
      ],
      newest: new Map([["list", lastAt]]),
    });
    // All of what was due in another share was missed, and none of it is this instrument.
    await load(slotNote("14:32", ["AAPL"], { "*": "down" }));
    const cell = { date: "2026-11-20", instrument: "KO", source: "account" } as const;
    expect(await readMisses(pool, cell)).toMatchObject([{ job: "list", reason: "unknown_symbol", count: 2 }]);
    const before = { from: null, to: instantOn20th("14:32") };
    expect(await listHoles(pool, before)).toMatchObject([
      { reason: "budget", slots: 2, instruments: 2, misses: 2 },
      { reason: "unknown_symbol", slots: 2, instruments: 1, misses: 2 },
    ]);
  });

  test("a star of one account's share is no miss of what was due to another account in the same slot", async () => {
    await load(
      slotNote("14:32", ["AAPL"], { "*": "down" }),
      slotNote("14:32", ["KO", "T"], { T: "budget" }, { account: "second" }),
    );
    const { rows } = await pool.query<{ id: number }>(
      "insert into instruments (security_type, symbol, first_seen_at, last_seen_at) values ('CS', 'KO', now(), now()) returning id",
    );
    const day = { from: "2026-11-20", to: "2026-11-20" };

    const chart = { instrument: rows[0]?.id ?? 0, source: 1, interval: "1m", ...day } as const;
    expect(await readMissedBars(pool, chart)).toEqual({ misses: [], more: false });
    const { rows: covered } = await readCoverageView(pool, day.from, day.to);
    expect(covered.map(({ instrument, cells }) => [instrument, ...cells])).toEqual([
      ["AAPL", [1, 1]],
      ["T", [1, 1]],
      ["KO", 1],
    ]);
    const parts = await readCoverageShares(pool, day);
    expect(parts.map(({ account, instrument, missed }) => [account, instrument, missed])).toEqual([
      ["default", "AAPL", 1],
      ["second", "T", 1],
      ["second", "KO", 0],
    ]);
  });

  test("any account's quote fills a missed share, and the star of a share stands for what was due in that share", async () => {
    await load(
      slotNote("14:30", ["AAPL", "GE"], { "*": "down" }),
      slotNote("14:30", ["IBM", "KO", "T"], { "*": "down" }, { account: "second" }),
      slotNote("14:31", ["AAPL", "GE"]),
    );
    await pool.query("update slots set stored = 0, missed = due where slot_at = $1", [
      instantOn20th("14:30"),
    ]);
    const dir = tempDir();
    const answer = answerRecord(instantOn20th("14:30:05"), answerXml(equityXml("KO"), equityXml("GE")), {
      ...{ account: "third", request: symbolsCall("KO", "GE") },
    });
    await appendAll(dir, [answer]);
    await loadAll({ pool, journalDir: dir, clock: createTestClock() });

    expect(await listHoles(pool, { from: null, to: null })).toMatchObject([
      { slots: 1, instruments: 5, misses: 5 },
    ]);
    const filling = {
      from: null,
      to: null,
      by: "gaps",
      polled: { delayedJobs: [], endOf: ({ slotMs }: { slotMs: number }) => slotMs + 60_000 },
      now: instantOn20th("15:00"),
    } as const;
    expect(await fillSlots(pool, filling)).toBe(2);
    expect(await fillSlots(pool, filling)).toBe(0);

    expect(await shares()).toEqual([
      "14:30 default 2=1+1: AAPL down",
      "14:30 second 3=1+2: IBM down, T down",
      "14:31 default 2=2+0",
    ]);
    expect(
      await rowsOfQuery(
        pool,
        "select a.name as account, instrument from fills f join accounts a on a.id = f.account_id order by 1",
      ),
    ).toEqual([
      { account: "default", instrument: "GE" },
      { account: "second", instrument: "KO" },
    ]);
  });
});

describe("when a run is over, of each account", () => {
  const RUN = "01940000-0000-7000-8000-000000000001";
  const NEXT = "01940000-0000-7000-8000-000000000002";
  const opened = (account: string | undefined, due: string[]): LedgerNote => ({
    ...{
      type: "opened",
      run: RUN,
      job: "list",
      slotAt: instantOn20th("14:30"),
      endsAt: instantOn20th("14:31"),
      due,
    },
    ...(account !== undefined && { account }),
  });
  const answered = async (account: string, body: string, request: QuoteCall): Promise<void> => {
    const dir = tempDir();
    const record = answerRecord(instantOn20th("14:30:05"), body, { account, request });
    await appendAll(dir, [record]);
    await loadAll({ pool, journalDir: dir, clock: createTestClock() });
  };
  const polled = {
    ...{ source: "account" as const, startedAt: on20th("14:33") },
    accounts: ["default", "gone", "second", "third"],
    jobs: [scheduleJob(jobOf({ name: "list", symbols: ["AAPL", "IBM"] }), createCalendar())],
  };

  test("slots that a run left open are settled by account, and quotes that another account stored count as stored", async () => {
    await load(
      opened(undefined, ["AAPL", "GE"]),
      opened("second", ["IBM", "KO"]),
      slotNote("14:30", ["T"], {}, { account: "third" }),
    );
    await answered("second", answerXml(equityXml("GE"), equityXml("IBM")), symbolsCall("GE", "IBM"));

    const notes = await accountForLeftOpen(pool, { ...polled, now: polled.startedAt, run: NEXT });
    await load(...notes);

    expect(notes.map((note) => JSON.stringify(note).includes('"account":"'))).toEqual([false, true]);
    expect(await shares()).toEqual([
      "14:30 default 2=1+1: AAPL down",
      "14:30 second 2=1+1: KO down",
      "14:30 third 1=1+0",
    ]);
    expect(await rowsOfQuery(pool, "select from open_slots")).toEqual([]);
    expect(await accountForLeftOpen(pool, { ...polled, now: polled.startedAt, run: NEXT })).toEqual([]);
  });

  test("every share that a note opened is settled, except one of which nothing is due any more", async () => {
    const others = [
      { account: "second", due: ["IBM", "KO"] },
      { account: "third", due: ["T"] },
    ];
    const whole = { ...opened(undefined, ["AAPL"]), others } as LedgerNote;
    await load(whole, {
      ...opened("third", []),
      others: [{ account: "second", due: ["IBM", "KO", "T"] }],
    } as LedgerNote);

    await load(...(await accountForLeftOpen(pool, { ...polled, now: polled.startedAt, run: NEXT })));

    expect(await shares()).toEqual([
      "14:30 default 1=0+1: AAPL down",
      "14:30 second 3=0+3: IBM down, KO down, T down",
    ]);
    expect(await rowsOfQuery(pool, "select from open_slots")).toEqual([]);
  });

  test("a watchlist is its account's own: another account's of the same name does not stand for it", async () => {
    await load(opened(undefined, ["watchlist MINE"]), opened("second", ["watchlist MINE"]));
    const request = { form: "watchlist", watchlist: "MINE", delayed: false } as const;
    await answered("second", answerXml(equityXml("X")), request);

    await load(...(await accountForLeftOpen(pool, { ...polled, now: polled.startedAt, run: NEXT })));

    expect(await shares()).toEqual(["14:30 default 1=0+1: watchlist MINE down", "14:30 second 1=1+0"]);
  });

  test("slots that passed while nothing ran have the shares of the newest slot, not of those before it", async () => {
    await load(
      slotNote("14:29", ["AAPL", "IBM"], {}, { account: "gone" }),
      slotNote("14:30", ["AAPL"]),
      slotNote("14:30", ["IBM", "KO"], {}, { account: "second" }),
    );

    await load(...(await accountForDowntime(pool, polled)));

    expect(await shares()).toEqual([
      "14:29 gone 2=2+0",
      "14:30 default 1=1+0",
      "14:30 second 2=2+0",
      "14:31 default 1=0+1: AAPL down",
      "14:31 second 2=0+2: IBM down, KO down",
      "14:32 default 1=0+1: AAPL down",
      "14:32 second 2=0+2: IBM down, KO down",
    ]);
    expect(await accountForDowntime(pool, polled)).toEqual([]);
  });
});

test("a row that the database refuses is missed in the share in which it was due", async () => {
  const world = await loadingWorld();
  await world.pool.query("alter table quotes add constraint poison check (last <> 666)");
  const bad = equityXml("BAD", { quote: { lastprice: "666" } });
  const watchlist = { form: "watchlist", watchlist: "MINE", delayed: false } as const;
  await world.append(
    answerRecord(at(5), answerXml(equityXml("A"), bad), {
      account: "second",
      request: symbolsCall("A", "BAD"),
    }),
    answerRecord(at(6), answerXml(bad), { account: "first", request: watchlist }),
    answerRecord(at(7), answerXml(equityXml("C")), { account: "second", request: watchlist }),
    settled(at(59), at(0), ["A", "watchlist MINE"], [], { job: "list", account: "first" }),
    settled(at(59), at(0), ["BAD", "C", "watchlist MINE"], [], { job: "list", account: "second" }),
  );

  await world.load();

  const found = await rowsOfQuery(world.pool, SHARES);
  expect(found.map(({ share, missed }) => `${share}: ${missed}`)).toEqual([
    "22:50 first 2=1+1: watchlist MINE malformed",
    "22:50 second 3=2+1: BAD malformed",
  ]);
});
