import { describe, expect, test } from "@jest/globals";
import { fillFixture, FIXTURE_AS_OF } from "../../scripts/sql/fixture.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { dashboards, expandedAt, type Values } from "./grafanaSql.ts";

const { pool, url } = await freshDatabase();
await fillFixture(pool);
await pool.query(
  `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome, rate_limit_used, rate_limit_limit, body_bytes, journal_segment, journal_offset)
   select t, 1, gen_random_uuid(), t - interval '0.2 s', 'us', '{}', 200, 'quotes', 12, 60, 800, 'a', 0
   from generate_series(timestamptz '2026-11-20 14:30+00', '2026-11-20 21:00+00', interval '1 minute') t`,
);
// A second account, which is called every other minute and shares a job with the first.
await pool.query("insert into accounts (id, name) values (2, 'it''s second')");
await pool.query(
  `insert into responses (observed_at, source_id, account_id, request_id, requested_at, job, request, http_status, outcome, rate_limit_used, rate_limit_limit, body_bytes, journal_segment, journal_offset)
   select t + interval '1 s', 1, 2, gen_random_uuid(), t, 'us', '{}', 200, 'quotes', 30, 40, 800, 'a', 0
   from generate_series(timestamptz '2026-11-20 14:30+00', '2026-11-20 21:00+00', interval '2 minutes') t`,
);
await pool.query(
  `insert into slots (job, slot_at, source_id, account_id, due, stored, missed, due_set_id)
   select job, slot_at, source_id, 2, 4, 1, 3, due_set_id from slots where source_id = 1 and slot_at = '2026-11-20 15:00+00'`,
);
await pool.query(
  `insert into misses (job, slot_at, source_id, account_id, instrument, reason)
   select job, slot_at, source_id, 2, '*', 'unauthorized' from slots where account_id = 2`,
);
await pool.query("insert into journal_positions values ('a', 100, now())");
await pool.query(
  "insert into dead_letters values ('2026-11-20 15:00+00', 1, 0, 'AAPL', 'malformed', 'bid is x', null)",
);
const holder = await joinFleet(pool, { number: 1 });
await pool.query(
  `insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
   values (1, 2, $1, 'r', 0, now(), now(), now() + interval '1 day', false), (2, 1, $1, 'r', 0, now(), now(), now(), true)`,
  [holder],
);
await pool.query(
  "insert into lease_history values (1, 2, '2026-11-20 15:00+00', $1, 'quotes-1', 'expired', 'quotes-2')",
  [holder],
);
// One connection, which stays in that role.
const client = poolOn(url, { max: 1 });
await client.query("set role quotekeeper_reader");
await client.query(`set quotekeeper.as_of = '${FIXTURE_AS_OF}'`);

const FROM = "2026-11-20T05:00:00Z";
const TO = "2026-11-21T05:00:00Z";
const ACCOUNTS = ["default", "it's second"];
const VALUES: Values = { source: "account", instrument: "AAPL", bars: "5m", account: ACCOUNTS };

const expanded = (sql: string, values = VALUES): string => expandedAt(sql, values, { from: FROM, to: TO });

/** What a panel of the collection's health shows. */
async function shownBy(title: string, values: Values = VALUES): Promise<Record<string, unknown>[]> {
  const health = dashboards.find(({ name }) => name === "collection-health.json")?.dashboard;
  const sql = health?.panels.find((panel) => panel.title === title)?.targets[0]?.rawSql ?? "";
  return (await client.query<Record<string, unknown>>(expanded(sql, values))).rows;
}

const total = (rows: readonly Record<string, unknown>[], column: string): number =>
  rows.reduce((sum, row) => sum + Number(row[column]), 0);

test("what was imported is never shown as calls, whatever is chosen", async () => {
  await pool.query(
    "insert into sources (name, kind) values ('files of the test', 'import') on conflict do nothing",
  );
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes, journal_segment, journal_offset)
     select t, id, gen_random_uuid(), t, '{}', 200, 'quotes', 800, 'a', 0
     from sources, generate_series(timestamptz '2026-11-20 15:00+00', '2026-11-20 15:01+00', interval '1 second') t
     where name = 'files of the test'`,
  );
  const health = dashboards.find(({ name }) => name === "collection-health.json")?.dashboard;
  const panels = health?.panels.filter(({ targets }) =>
    targets.some(({ rawSql }) => /from responses/.test(rawSql)),
  );
  const shown: Record<string, unknown> = {};

  for (const { title, targets } of panels ?? [])
    for (const { rawSql } of targets) {
      const { rows } = await client.query<unknown[]>({
        ...{ text: expanded(rawSql, { ...VALUES, source: "import" }), rowMode: "array" },
      });
      // A sum over nothing is one row of null or 0.
      shown[title] = rows.flat().filter((value) => value !== null && value !== "0");
    }

  expect(shown).toEqual({
    "Since the last answer": [],
    "Refused for the limit": [],
    "Calls a minute by outcome": [],
    "The service's own count": [],
    "Calls a minute by account": [],
    "Used of the limit, by account": [],
    "Time to the answer": [],
  });
});

test("what is an account's is that of all, or of the accounts that are chosen", async () => {
  const only = (account: string): Values => ({ ...VALUES, account: [account] });
  const [first = "", second = ""] = ACCOUNTS;
  const column = {
    "Calls a minute by outcome": "calls",
    "Missed, by reason": "missed",
  };
  const split: Record<string, number[]> = {};

  for (const [title, name] of Object.entries(column))
    split[title] = await Promise.all(
      [VALUES, only(first), only(second)].map(async (values) => total(await shownBy(title, values), name)),
    );

  // 391 minutes, every other one of which is the second account's too.
  expect(split["Calls a minute by outcome"]).toEqual([587, 391, 196]);
  const [missed = 0, firstMissed = 0, secondMissed = 0] = split["Missed, by reason"] ?? [];
  expect(secondMissed).toBeGreaterThanOrEqual(4);
  expect(missed).toBe(firstMissed + secondMissed);
  expect(await shownBy("Stored of what was due", only(second))).toEqual([{ share: 0.25 }]);
  const byAccount = await shownBy("Calls a minute by account");
  expect(
    ACCOUNTS.map((name) =>
      total(
        byAccount.filter(({ metric }) => metric === name),
        "calls",
      ),
    ),
  ).toEqual([391, 196]);
  const used = await shownBy("Used of the limit, by account");
  expect(new Set(used.map(({ metric, used: share }) => `${String(metric)} ${String(share)}`))).toEqual(
    new Set(["default 0.2", "it's second 0.75"]),
  );
  const counts = await shownBy("The service's own count");
  expect(new Set(counts.map(({ used: own, limit }) => `${String(own)} of ${String(limit)}`))).toEqual(
    new Set(["12 of 60", "42 of 100"]),
  );
  expect(await shownBy("Calls a minute by account", only("it's no account"))).toEqual([]);
});

test("of collectors it shows who calls what, and what was taken over", async () => {
  expect(await shownBy("Collectors")).toMatchObject([{ name: "quotes-1", state: "running" }]);
  expect(await shownBy("Who calls each account")).toMatchObject([
    { account: "default", owner: "quotes-1", fence: "2" },
    { account: "it's second", owner: "nobody", fence: "1" },
  ]);
  expect(await shownBy("Accounts that changed hands, newest first")).toMatchObject([
    { account: "default", how: "expired", previous: "quotes-2", collector: "quotes-1" },
  ]);
});

describe.each(dashboards)("$name", ({ dashboard }) => {
  const { panels, templating } = dashboard;

  test("leaves no variable or macro unknown", () => {
    const names = templating.list.map(({ name }) => name);

    for (const { rawSql } of panels.flatMap(({ targets }) => targets)) {
      for (const [, name] of rawSql.matchAll(/\$\{(\w+)/g)) expect(names).toContain(name);
      expect(expanded(rawSql)).not.toMatch(/\$/);
    }
  });

  test.each(templating.list.filter(({ type }) => type === "query").map(({ name, query }) => [name, query]))(
    "can ask for the values of %s",
    async (name, query) => {
      const { rows } = await client.query({ text: query ?? "", rowMode: "array" });

      expect(rows.map(([value]: unknown[]) => value)).toEqual(
        expect.arrayContaining([VALUES[name ?? ""]].flat()),
      );
    },
  );

  test.each(panels.flatMap(({ title, targets }) => targets.map((target) => [title, target] as const)))(
    "shows %s",
    async (_title, { rawSql, format }) => {
      const { rows, fields } = await client.query<Record<string, unknown>>(expanded(rawSql));

      const names = fields.map(({ name }) => name);
      expect(rows.length).toBeGreaterThan(0);
      if (format === "time_series") {
        expect(names).toContain("time");
        const times = rows.map(({ time }) =>
          time instanceof Date ? time.getTime() : Number(time) || Date.parse(String(time)),
        );
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }
    },
  );
});

test.each(["1m", "5m", "1h"])(
  "the market view has bars of %s, and takes a quote in a symbol for a quote",
  async (bars) => {
    const market = dashboards.find(({ name }) => name === "market-view.json")?.dashboard;
    const candles = market?.panels.find(({ type }) => type === "candlestick");
    const sql = candles?.targets[0]?.rawSql ?? "";

    const found = await client.query(expanded(sql, { ...VALUES, bars }));
    const injected = await client.query(expanded(sql, { ...VALUES, bars, instrument: "A' or 'a' = 'a" }));

    expect(found.rows.length).toBeGreaterThan(0);
    expect(found.fields.map(({ name }) => name)).toEqual(["time", "open", "high", "low", "close", "volume"]);
    expect(injected.rows).toEqual([]);
  },
);
