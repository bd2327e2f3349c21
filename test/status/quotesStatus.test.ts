/** Fresh answers with old quotes: what of an archive's newest rows needs a person. Times are New York's. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import type { Account } from "../../src/accounts/account.ts";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { quotesLines, readQuotesStatus } from "../../src/status/quotesStatus.ts";
import { knownService } from "../../src/services/registry.ts";
import { createTestClock } from "../support/clock.ts";
import { addStocks, archive, see, type Seen } from "../support/observations.ts";
import { openFakeTradier } from "../support/livingFakes.ts";
import { run } from "../cli/edges.ts";
import { surroundings } from "../cli/oneJob.ts";

/** Minutes of the clock from a time on: `10:30`, `10:31`, ... */
function minutes(from: string, count: number, each = 1): string[] {
  const [hours = 0, start = 0] = from.split(":").map(Number);
  return Array.from({ length: count }, (_, place) => {
    const minute = hours * 60 + start + place * each;
    return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, "0")).join(":");
  });
}

const utc = (newYork: string): string =>
  new Date(`${newYork.replace(" ", "T")}:00-05:00`).toISOString().replace(".000Z", ".000000Z");

/** Stores quotes, and the answers that they came in. @param account number of the account that asked */
async function answered(pool: pg.Pool, seen: readonly Seen[], account = 1): Promise<void> {
  await see(pool, ...seen);
  await pool.query(
    `insert into responses (observed_at, source_id, account_id, request_id, requested_at, request, http_status, outcome, body_bytes, journal_segment, journal_offset)
     select at, source, $3, gen_random_uuid(), at, '{}', 200, 'quotes', 1, 'a', 0
     from (select distinct at::timestamp at time zone 'America/New_York' as at, source from unnest($1::text[], $2::smallint[]) s (at, source)) each`,
    [seen.map(({ at }) => at), seen.map(({ source = 1 }) => source), account],
  );
}

const tradier = knownService("tradier");

function accountAt(name: string, baseUrl = "https://api.tradier.com", service = tradier): Account {
  const feed = { kind: "account" as const, baseUrl, credentials: {} };
  return { name, service, feed, limit: 120, limitGiven: true, limitWindowMs: 60_000 };
}

const DEFAULT = [accountAt("default")];

async function told(
  pool: pg.Pool,
  now: string,
  accounts: readonly Account[] = DEFAULT,
  calendar = createCalendar(),
) {
  const quotes = await readQuotesStatus(pool, { calendar, accounts, now: new Date(utc(now)) });
  return quotesLines(quotes)[0]?.text ?? quotes.map(({ stuck }) => (stuck ? "stuck" : "moves")).join();
}

const OLD = utc("2026-11-30 15:00");

test("answers of a trading day whose quotes are all of the day before need a person, at once", async () => {
  const pool = await archive("AA", "BB");
  await answered(pool, [
    { at: "2026-12-01 10:30", id: 1, bid: "10", quotedAt: OLD },
    { at: "2026-12-01 10:30", id: 2, bid: "20", quotedAt: utc("2026-11-30 14:20") },
  ]);

  expect(await told(pool, "2026-12-01 10:31")).toBe(
    "nothing newer than 2026-11-30 15:00:00 New York has come, for 1 h 0 min of the session: ask the service, its answers repeat old quotes",
  );
});

test("nobody is needed before the session has run for 20 minutes, and 20 minutes is not yet too old", async () => {
  const pool = await archive("AA", "BB");
  const at = (minute: string, quotedAt: string): Promise<void> =>
    answered(pool, [
      { at: `2026-12-01 ${minute}`, id: 1, bid: "10", quotedAt: OLD },
      { at: `2026-12-01 ${minute}`, id: 2, bid: "20", quotedAt },
    ]);
  await at("09:50", OLD);
  const early = await told(pool, "2026-12-01 09:50");
  await at("10:30", utc("2026-12-01 10:10"));
  const just = await told(pool, "2026-12-01 10:30");
  await at("10:31", utc("2026-12-01 10:10"));

  expect([early, just, await told(pool, "2026-12-01 10:31")]).toEqual([
    "",
    "moves",
    expect.stringContaining("nothing newer than 2026-12-01 10:10:00 New York has come, for 21 min"),
  ]);
});

test("delayed quotes have their delay besides, and begin as much later", async () => {
  const pool = await archive("AA");
  const delayed = (at: string, quotedAt: string): Seen => ({ at, delayed: true, bid: "10", quotedAt });
  await answered(pool, [delayed("2026-12-01 10:05", OLD)]);
  const early = await told(pool, "2026-12-01 10:05");
  await answered(pool, [delayed("2026-12-01 10:06", OLD)]);
  const late = await told(pool, "2026-12-01 10:06");
  await answered(pool, [delayed("2026-12-01 10:40", utc("2026-12-01 10:06"))]);

  expect([early, late, await told(pool, "2026-12-01 10:40")]).toEqual([
    "",
    expect.stringContaining("for 21 min of the session"),
    "moves",
  ]);
});

test("it stays so after the close and over a weekend, until something newer comes", async () => {
  const pool = await archive("AA");
  await answered(pool, [{ at: "2026-12-04 15:59", bid: "10", quotedAt: utc("2026-12-04 12:00") }]);
  const evening = await told(pool, "2026-12-04 18:00");
  const monday = await told(pool, "2026-12-07 09:40");
  await answered(pool, [{ at: "2026-12-07 09:41", bid: "11", quotedAt: utc("2026-12-07 09:41") }]);

  expect([evening, monday, await told(pool, "2026-12-07 09:42")]).toEqual([
    expect.stringContaining("for 3 h 59 min of the session"),
    expect.stringContaining("for 3 h 59 min of the session"),
    "moves",
  ]);
});

test("holidays, nights and what was asked outside of the session judge nobody", async () => {
  const pool = await archive("AA");
  // Thanksgiving, and the early close of the day after.
  await answered(pool, [{ at: "2026-11-26 12:00", bid: "10", quotedAt: utc("2026-11-25 12:00") }]);
  await answered(pool, [{ at: "2026-11-27 15:00", bid: "10", quotedAt: utc("2026-11-27 12:30") }]);
  await answered(pool, [{ at: "2026-11-30 06:00", bid: "10", quotedAt: utc("2026-11-27 12:30") }]);

  expect([
    await told(pool, "2026-11-26 12:30"),
    await told(pool, "2026-11-27 16:00"),
    await told(pool, "2026-11-30 06:30"),
  ]).toEqual(["", "", ""]);
});

test("each account is judged by itself, and named where there are several", async () => {
  const pool = await archive("AA", "BB");
  await pool.query("insert into accounts (id, name) values (2, 'other')");
  const both = [...DEFAULT, accountAt("other")];
  await answered(pool, [{ at: "2026-12-01 11:00", id: 1, bid: "10", quotedAt: utc("2026-12-01 11:00") }]);
  await answered(pool, [{ at: "2026-12-01 11:01", id: 2, bid: "20", quotedAt: utc("2026-12-01 10:00") }], 2);

  expect(await told(pool, "2026-12-01 11:02", both)).toMatch(
    /^nothing newer than 2026-12-01 10:00:00 New York has come of other, for 1 h 1 min of the session:/,
  );
});

test("one stuck server among several is no stuck service, and a time of the future is none", async () => {
  const pool = await archive("AA", "BB");
  await answered(pool, [
    { at: "2026-12-01 10:50", bid: "10", quotedAt: utc("2026-12-01 10:50") },
    { at: "2026-12-01 10:59", bid: "10", quotedAt: OLD },
  ]);
  const several = await told(pool, "2026-12-01 11:00");
  await answered(pool, [
    { at: "2026-12-01 12:00", id: 1, bid: "10", quotedAt: OLD },
    { at: "2026-12-01 12:00", id: 2, bid: "10", quotedAt: "2099-01-01T00:00:00.000000Z" },
  ]);

  expect([several, await told(pool, "2026-12-01 12:01")]).toEqual([
    "moves",
    expect.stringContaining("nothing newer than"),
  ]);
});

/** Minutes of instruments without times; a value changes where `changes` says so. */
function untimed(
  ids: readonly number[],
  at: readonly string[],
  changes: (id: number, minute: string) => string,
): Seen[] {
  return at.flatMap((minute) =>
    ids.map((id) => ({
      at: `2026-12-01 ${minute}`,
      id,
      bid: "10",
      last: "10.5",
      volume: changes(id, minute),
    })),
  );
}

const IDS = [1, 2, 3, 4, 5, 6];

async function sixStocks(): Promise<pg.Pool> {
  const pool = await archive();
  await addStocks(pool, ["AA", "BB", "CC", "DD", "EE", "FF"]);
  return pool;
}

test("without times it is stuck when no value of at least five instruments has changed for 20 minutes", async () => {
  const pool = await sixStocks();
  await answered(
    pool,
    untimed(IDS, minutes("10:00", 20), (_id, minute) => (minute < "10:05" ? "1" : "2")),
  );
  const soon = await told(pool, "2026-12-01 10:20");
  await answered(
    pool,
    untimed(IDS, minutes("10:20", 10), () => "2"),
  );
  const stuck = await told(pool, "2026-12-01 10:30");
  await answered(
    pool,
    untimed(IDS, minutes("10:30", 1), (id) => (id === 6 ? "3" : "2")),
  );

  expect([soon, stuck, await told(pool, "2026-12-01 10:31")]).toEqual([
    "moves",
    "no value has changed for 20 min of the session, of 6 instruments: ask the service, its answers repeat old quotes",
    "moves",
  ]);
});

test("without times four instruments are too few, and jobs of half an hour are judged by their own spacing", async () => {
  const pool = await sixStocks();
  await answered(
    pool,
    untimed(IDS.slice(0, 4), minutes("10:00", 40), () => "1"),
  );
  const few = await told(pool, "2026-12-01 10:40");
  await answered(
    pool,
    untimed(IDS, minutes("11:00", 4, 30), () => "1"),
  );

  expect([few, await told(pool, "2026-12-01 12:31")]).toEqual([
    "moves",
    expect.stringContaining("no value has changed for 20 min of the session, of 6 instruments"),
  ]);
});

test("without times it stays stuck after the close, until a value has changed", async () => {
  const pool = await sixStocks();
  await answered(
    pool,
    untimed(IDS, minutes("15:30", 30), () => "1"),
  );
  const evening = await told(pool, "2026-12-01 18:00");
  await answered(
    pool,
    untimed(IDS, minutes("19:00", 1), () => "1"),
  );
  const same = await told(pool, "2026-12-01 19:01");
  await answered(
    pool,
    untimed(IDS, minutes("19:02", 1), (id) => String(id)),
  );

  expect([evening, same, await told(pool, "2026-12-01 19:03")]).toEqual([
    expect.stringContaining("no value has changed"),
    expect.stringContaining("no value has changed"),
    "moves",
  ]);
});

test("a simulated market, imported quotes and a service of stored answers are never stuck", async () => {
  const pool = await archive("AA");
  await pool.query("insert into sources (id, name, kind) values (3, 'vendor', 'import')");
  await answered(pool, [{ at: "2026-12-01 11:00", source: 2, bid: "10", quotedAt: OLD }]);
  await answered(pool, [{ at: "2026-12-01 11:00", source: 3, bid: "10", quotedAt: OLD }]);
  const others = await told(pool, "2026-12-01 11:01");
  await answered(pool, [{ at: "2026-12-01 11:02", bid: "10", quotedAt: OLD }]);
  const stored = accountAt("default", "https://apisb.etrade.com", knownService("etrade"));

  expect([others, await told(pool, "2026-12-01 11:03", [stored])]).toEqual(["", ""]);
  expect(await told(pool, "2026-12-01 11:03")).toContain("nothing newer");
});

test("a service that stands at yesterday's afternoon needs a person by `status`, however well it answers", async () => {
  const { fake, settings } = await openFakeTradier({ clock: createTestClock("2026-11-30T20:00:00.000Z") });
  const { settings: own } = await surroundings(
    'name: us\nschedule: "* * * * *"\nsession: regular\nsymbols: [AAPL, IBM]\n',
  );
  const [env, clock] = [{ ...own, ...settings }, createTestClock("2026-12-01T15:31:00.000Z")];

  const polled = await run(["poll", "--symbols", "AAPL,IBM"], env, clock);
  const status = await run(["status"], env, clock);
  const json = JSON.parse((await run(["status", "--json"], env, clock)).stdout) as { quotes: unknown[] };

  expect(polled.exitCode).toBe(0);
  expect(fake.baseUrl).toContain("127.0.0.1");
  expect(status.stdout).toMatch(
    /^quotes +ATTENTION nothing newer than 2026-11-30 1[45]:\d\d:\d\d New York has come, for 1 h 1 min of the session/m,
  );
  expect(status.exitCode).toBe(1);
  expect(json.quotes).toMatchObject([{ account: "default", instruments: 2, stuck: true }]);
});
