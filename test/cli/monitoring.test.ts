import { expect, test } from "@jest/globals";
import { METRICS, type MetricName } from "../../src/web/monitoring/definitions.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { closedPort } from "../support/stubService.ts";
import { statusAs } from "../web/dashboard.ts";
import { until } from "../support/until.ts";
import { valuesOf, withDashboard } from "./withDashboard.ts";

const TOKEN = "canary-token-of-the-dashboard";

test("a collection reports to Prometheus under the names of docs/metrics.md and no others", async () => {
  const database = await freshDatabase();
  const { get } = await withDashboard("start", database);

  await until(
    async () => !!valuesOf((await get("/metrics")).text).get('quotekeeper_rows_total{table="quotes"}'),
    "a row",
  );

  // What was looked up before the first answer came is looked up anew.
  const { text } = await get("/metrics");
  const values = valuesOf(text);
  const { rows } = await database.pool.query<{ calls: string }>("select count(*) as calls from responses");
  const calls = Number(rows[0]?.calls);
  expect(values.get('quotekeeper_calls_total{account="default",outcome="quotes"}')).toBe(calls);
  expect(values.get('quotekeeper_slot_lateness_seconds_count{account="default"}')).toBe(calls);
  expect(values.get('quotekeeper_calls_left{account="default"}')).toBe(
    60 - (values.get('quotekeeper_calls_used{account="default"}') ?? 0),
  );
  expect(values.get("quotekeeper_journal_bytes")).toBeGreaterThan(0);
  expect(values.get("quotekeeper_journal_lag_seconds")).toBeGreaterThanOrEqual(0);
  expect(values.get('quotekeeper_misses_total{account="default",reason="budget"}')).toBe(0);
  expect(values.get("quotekeeper_dead_letters_total")).toBe(0);
  expect(values.get("quotekeeper_database_up")).toBe(1);
  expect(values.get('quotekeeper_lease_held{account="default"}')).toBe(1);
  expect(values.get('quotekeeper_lease_fence{account="default"}')).toBe(1);
  expect(values.get('quotekeeper_account_uncalled_seconds{account="default"}')).toBe(0);
  expect(values.get('quotekeeper_collectors{state="running"}')).toBe(1);
  expect(values.get('quotekeeper_collectors{state="gone"}')).toBe(0);
  expect(values.get("quotekeeper_lease_unsure")).toBe(0);
  expect(values.get("quotekeeper_take_overs_total")).toBe(0);
  expect(values.get("quotekeeper_clock_offset_seconds")).toBe(0);
  expect(values.get("process_resident_memory_bytes")).toBeGreaterThan(0);
  const named = [...text.matchAll(/^# HELP (quotekeeper_\S+)/gm)].map(([, name]) => name);
  // Without a lake, and of a simulated market, nothing is said of lakes, logins and stuck quotes.
  const told = Object.keys(METRICS).filter(
    (name) => !/^quotekeeper_(?:lake_|login_|quotes_stuck)/.test(name),
  );
  expect(named.sort()).toEqual(told.sort());
});

test("metrics name no symbol, address or credential, and only labels that docs/metrics.md lists", async () => {
  const { get } = await withDashboard("start", await freshDatabase());

  const { text, type } = await get("/metrics");

  expect(type).toContain("text/plain");
  expect(text).not.toMatch(/CANARY|AAPL|postgres|127\.0\.0\.1|token=/i);
  for (const [series] of valuesOf(text)) {
    const [, name = "", labels = ""] =
      /^(quotekeeper_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})?$/.exec(series) ?? [];
    const known = METRICS[name as MetricName]?.labels ?? {};
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      if (label === "le") continue;
      const allowed = (known as Record<string, readonly string[] | string>)[label];
      expect({ name, label, known: allowed !== undefined }).toEqual({ name, label, known: true });
      if (Array.isArray(allowed)) expect(allowed).toContain(value);
    }
  }
});

test("a collection is ready while the database answers, not ready while it is away, and always alive", async () => {
  const database = await freshDatabase();
  const { get } = await withDashboard("start", database);
  const ready = await readiness(get, 200);

  await database.pool.query(`alter table schema_migrations rename to away`);
  const notReady = await readiness(get, 503);
  const alive = await get("/healthz");
  await database.pool.query(`alter table away rename to schema_migrations`);

  expect(JSON.parse(ready)).toEqual({
    status: "ready",
    checks: { database: "ok", collector: "ok", journal: "ok", loader: "ok" },
  });
  expect(JSON.parse(notReady)).toMatchObject({ status: "not ready", checks: { database: "failed" } });
  expect({ ...alive, text: JSON.parse(alive.text) as unknown }).toMatchObject({
    status: 200,
    text: { status: "alive" },
  });
  await readiness(get, 200);
});

test("metrics and readiness need the token, and liveness does not", async () => {
  const { get, address } = await withDashboard("start", await freshDatabase(), {
    env: { QUOTEKEEPER_WEB_TOKEN: TOKEN, QUOTEKEEPER_WEB_HOSTS: "quotes.example" },
  });

  const [bare, wrong, right] = [
    await get("/metrics"),
    await get("/metrics", { authorization: "Bearer no-such-token-at-all" }),
    await get("/metrics", { authorization: `Bearer ${TOKEN}` }),
  ];

  const bearer = { authorization: `Bearer ${TOKEN}` };
  const forOthers = await get("/metrics", { ...bearer, "sec-fetch-site": "cross-site" });

  expect(forOthers.status).toBe(403);
  expect([bare, wrong, right].map(({ status }) => status)).toEqual([401, 401, 200]);
  expect(bare.text + right.text).not.toContain(TOKEN);
  expect((await get("/readyz")).status).toBe(401);
  expect(await statusAs(address, "/healthz", "quotes.example")).toBe(200);
  expect(await statusAs(address, "/healthz", "evil.example")).toBe(421);
  expect((await get("/healthz")).status).toBe(200);
});

test("a dashboard alone has the metrics of the archive and whether a collector lives; it is ready where none does", async () => {
  const database = await freshDatabase();
  await joinFleet(database.pool, { number: 1, seen: "2 minutes" });
  const { get } = await withDashboard("web", database);

  const ready = await get("/readyz");
  const { text } = await get("/metrics");
  const values = valuesOf(text);
  expect(values.get('quotekeeper_collectors{state="running"}')).toBe(0);
  expect(values.get('quotekeeper_collectors{state="gone"}')).toBe(1);
  expect(values.get('quotekeeper_status_ok{subject="collector"}')).toBe(0);
  expect(ready.status).toBe(200);
  const named = [...text.matchAll(/^# HELP (quotekeeper_\S+)/gm)].map(([, name]) => name);

  expect(JSON.parse(ready.text)).toEqual({ status: "ready", checks: { database: "ok" } });
  for (const name of named) expect(METRICS[name as MetricName]).toMatchObject({ always: true });
  expect(named).toContain("quotekeeper_database_up");
});

test("while the database is away the metrics say so, and leave out what only it knows", async () => {
  const away = { url: `postgresql://me:canary-password@127.0.0.1:${await closedPort()}/quotes` };
  const { get } = await withDashboard("web", away);

  const [ready, alive, metrics] = [await get("/readyz"), await get("/healthz"), await get("/metrics")];
  const values = valuesOf(metrics.text);

  expect([ready, alive, metrics].map(({ status }) => status)).toEqual([503, 200, 200]);
  expect(JSON.parse(ready.text)).toEqual({ status: "not ready", checks: { database: "failed" } });
  expect(values.get("quotekeeper_database_up")).toBe(0);
  expect(values.get('quotekeeper_status_ok{subject="database"}')).toBe(0);
  expect(metrics.text).not.toContain("quotekeeper_journal_lag");
  expect(ready.text + metrics.text).not.toMatch(/canary|127\.0\.0\.1/);
});

/** The answer of `/readyz` as soon as it has this status. */
function readiness(
  get: (path: string) => Promise<{ status: number; text: string }>,
  status: number,
): Promise<string> {
  return until(async () => {
    const answer = await get("/readyz");
    return answer.status === status && answer.text;
  }, `the status ${status}`);
}
