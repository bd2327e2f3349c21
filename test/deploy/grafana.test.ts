import { describe, expect, test } from "@jest/globals";
import { fillFixture, FIXTURE_AS_OF } from "../../scripts/sql/fixture.ts";
import { freshDatabase, poolOn } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { fileText, yamlOf } from "./files.ts";
import { boards, DIR, imported, opensWith } from "./grafanaBoards.ts";
import { dashboards, expandedAt, type Values } from "./grafanaSql.ts";

const { datasources } = yamlOf<{
  datasources: { name: string; uid: string; type: string; user: string; secureJsonData: object }[];
}>("deploy/grafana/provisioning/datasources/quotekeeper.yaml");

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

test("there are three dashboards, collection health, market view and metrics, and a provider that reads their directory", () => {
  const { providers } = yamlOf<{ providers: { options: { path: string } }[] }>(
    "deploy/grafana/provisioning/dashboards/quotekeeper.yaml",
  );

  expect(boards.map(({ name }) => name)).toEqual([
    "collection-health.json",
    "market-view.json",
    "metrics.json",
  ]);
  expect(new Set(boards.map(({ dashboard }) => dashboard.uid)).size).toBe(3);
  expect(fileText("docker-compose.yml")).toContain(`./${DIR}:${providers[0]?.options.path}:ro`);
});

test("all show the exchange's times, whatever zone the browser is in", () => {
  for (const { dashboard } of boards) expect(dashboard.timezone).toBe("America/New_York");
});

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

test("the data source reads as a role that can only read, with a password that stands in no file of ours", () => {
  expect(datasources).toHaveLength(1);
  expect(datasources[0]).toMatchObject({
    user: "quotekeeper_grafana",
    secureJsonData: { password: "$GF_QUOTEKEEPER_DB_PASSWORD" },
  });
  expect(fileText("docker-compose.yml")).toContain("GF_QUOTEKEEPER_DB_PASSWORD__FILE");
  expect(fileText("deploy/timescaledb/initdb/900_roles.sh")).toContain(
    "create role quotekeeper_grafana login password :'password' in role quotekeeper_reader",
  );
});

describe.each(boards)("$name", ({ dashboard }) => {
  const { panels, templating, schemaVersion, __inputs: inputs, __requires: requires } = dashboard;
  const [input] = inputs;

  test("has a schema version that Grafana migrates from, and panels that do not overlap", () => {
    expect(schemaVersion).toBeGreaterThanOrEqual(39);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { gridPos, title } of panels) {
      expect({ title, fits: gridPos.x + gridPos.w <= 24 }).toEqual({ title, fits: true });
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect({ title, place: `${x},${y}`, free: !taken.has(`${x},${y}`) }).toMatchObject({ free: true });
          taken.add(`${x},${y}`);
        }
      }
    }
  });

  test("asks the data source of its variable and no other", () => {
    const asked = [
      ...panels.flatMap((panel) => [panel.datasource, ...panel.targets.map(({ datasource }) => datasource)]),
      ...templating.list.flatMap(({ datasource }) => datasource ?? []),
    ];

    expect(new Set(asked.map(({ type, uid }) => `${type} ${uid}`))).toEqual(
      new Set([`${input?.pluginId} \${datasource}`]),
    );
    expect(templating.list[0]).toMatchObject({ name: "datasource", query: input?.pluginId });
  });

  test("says for its import which data source it needs, and which plugins", () => {
    expect(inputs).toEqual([expect.objectContaining({ type: "datasource", label: expect.any(String) })]);
    expect(input?.description).toMatch(/\.$/);
    expect(new Set(requires.map(({ type, id }) => `${type} ${id}`))).toEqual(
      new Set([
        "grafana grafana",
        `datasource ${input?.pluginId}`,
        ...panels.map(({ type }) => `panel ${type}`),
      ]),
    );
  });

  test("opens with the data source that was chosen at its import, also beside others of its kind", () => {
    const type = input?.pluginId ?? "";
    const present = ["first", "chosen", "quotekeeper"].map((name) => ({ name, uid: `uid-${name}`, type }));

    const here = imported(dashboard, { [input?.name ?? ""]: "uid-chosen" });

    expect(opensWith(here, present)).toBe("uid-chosen");
    expect(JSON.stringify(here)).not.toContain(input?.name);
    expect(here.panels).toEqual(panels);
  });

  test("opens with the provisioned data source of its kind where nobody has chosen one", () => {
    const type = input?.pluginId ?? "";
    const others = [
      { name: "another", uid: "another", type },
      { name: "quotekeeper", uid: "of another kind", type: "loki" },
    ];
    const own = datasources.filter((one) => one.type === type);

    expect(opensWith(dashboard, [...others, ...own])).toBe(own[0]?.uid ?? "another");
    expect(opensWith(dashboard, [])).toBeUndefined();
  });
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
