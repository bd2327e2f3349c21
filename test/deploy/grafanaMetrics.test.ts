/** The dashboard on Prometheus: each of its queries, asked of what a running collector answers at `/metrics`. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { valuesOf, withDashboard } from "../cli/withDashboard.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { boardsOn } from "./grafanaBoards.ts";
import { prometheusIsHere, startPrometheus, type Series } from "./prometheus.ts";

const [board] = boardsOn("prometheus");
const { panels = [], templating = { list: [] } } = board?.dashboard ?? {};
const queries = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));
const variables = templating.list.filter(({ type }) => type === "query");

const ACCOUNTS = ["default", "simulated-2"];

/** The account that makes the calls of the one job. */
const CALLED = "simulated-2";

/** A query as Grafana sends it. */
const expanded = (query: string, account = ".*"): string =>
  query.replaceAll("$job", "quotekeeper").replaceAll("$account", account);

/** A job that is due each second, and two accounts that may make one call in two seconds: the limit makes it miss slots. */
const { get, address } = await withDashboard("start", await freshDatabase(), {
  env: { QUOTEKEEPER_SIMULATED_ACCOUNTS: "2", QUOTES_LIMIT: "1", QUOTES_LIMIT_WINDOW_MS: "2000" },
  schedule: "* * * * * *",
});

/** The program's metrics, once it has stored quotes. */
const metrics = await until(async () => {
  const { text } = await get("/metrics");
  return !!valuesOf(text).get('quotekeeper_rows_total{table="quotes"}') && text;
}, "a row");

/** The labels of each series of the program, by the series' name. */
const labelsOf = new Map<string, Record<string, string>[]>();
for (const [series] of valuesOf(metrics)) {
  const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const own = Object.fromEntries(
    [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]),
  );
  labelsOf.set(name, [...(labelsOf.get(name) ?? []), own]);
}

/** What Prometheus itself adds to each series. */
const ADDED = ["job", "instance"];

test.each([
  ...queries.map(({ title, expr }) => [title, expr]),
  ...variables.map(({ name, query }) => [name, query]),
])("%s asks series and labels that a running collector has", (_title, query = "") => {
  const asked = [...query.matchAll(/(quotekeeper_\w+)(?:\{([^}]*)\})?/g)];
  const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = ""]) => names.split(", "));

  for (const [, name = "", selector = ""] of asked) {
    const matchers = [...selector.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)].filter(
      ([, label = ""]) => !ADDED.includes(label),
    );
    const found = (labelsOf.get(name) ?? []).filter((labels) =>
      matchers.every(([, label = "", operator, value = ""]) => {
        const own = labels[label];
        if (own === undefined) return false;
        const equal = operator === "=~" ? new RegExp(`^(?:${expanded(value)})$`).test(own) : own === value;
        return equal === (operator !== "!=");
      }),
    );

    expect({ name, selector, found: found.length > 0 }).toEqual({ name, selector, found: true });
    const labels = [...ADDED, ...found.flatMap((one) => Object.keys(one))];
    expect(labels).toEqual(expect.arrayContaining(grouped));
  }
  expect(asked.length).toBeGreaterThan(0);
});

if (!prometheusIsHere)
  process.stderr.write(
    "Left out, because Prometheus is not installed: the queries of Grafana's dashboard on it.\n",
  );

(prometheusIsHere ? describe : describe.skip)("asked of a Prometheus that scrapes the collector,", () => {
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>;
  beforeAll(async () => {
    prometheus = await startPrometheus(new URL(address).host, tempDir());
  });
  afterAll(() => prometheus.close());

  /** What a query gives, once it gives numbers. */
  const answered = (ask: () => Promise<Series[]>, what: string): Promise<Series[]> =>
    until(async () => {
      const series = await ask();
      return series.some(({ values }) => values.some((value) => Number.isFinite(value))) && series;
    }, what);

  test("Prometheus' own check finds nothing wrong with the program's metrics", () => {
    const { stderr, status } = spawnSync("promtool", ["check", "metrics"], {
      input: metrics,
      encoding: "utf8",
    });

    // A text that it cannot read ends it with 1; names that it would choose otherwise, prom-client's own, with 3.
    expect([0, 3]).toContain(status);
    expect(stderr.split("\n").filter((line) => line.startsWith("quotekeeper_"))).toEqual([]);
  });

  test.each(queries)("$title shows $legendFormat", async ({ title, expr, legendFormat, instant }) => {
    const ask = instant ? prometheus.now : prometheus.graph;

    const all = await answered(() => ask(expanded(expr)), title);
    const one = await answered(() => ask(expanded(expr, `(${CALLED})`)), title);

    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    for (const { labels } of all) expect(Object.keys(labels)).toEqual(named);
    if (named.includes("account")) expect([all.length, one.length]).toEqual([2, 1]);
    else expect(one.length).toBe(all.length);
  });

  test.each(variables)("the variable $name has values", async ({ name, query }) => {
    const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(expanded(query)) ?? [];

    const values = await until(async () => {
      const found = await prometheus.labelValues(selector, label);
      return found.length > 0 && found;
    }, query);

    expect(values).toEqual({ job: ["quotekeeper"], account: ACCOUNTS }[name]);
  });

  test("misses are shown by their reason, calls beside their limit, and the collector as ready", async () => {
    const exprOf = (title: string, n = 0): string =>
      expanded(queries.filter((one) => one.title === title)[n]?.expr ?? "");

    const missed = await until(async () => {
      const series = await prometheus.now(exprOf("Missed in 15 minutes, by reason"));
      return (
        series.find(({ labels, values: [value = 0] }) => labels["reason"] === "budget" && value > 0) ?? null
      );
    }, "a miss");
    // A scrape that came too late leaves a gap, and the next one fills it.
    const valuesOnce = async (expr: string, wanted: number[][]): Promise<number[][]> =>
      until(async () => {
        const values = (await prometheus.now(expr)).map((one) => one.values);
        return JSON.stringify(values) === JSON.stringify(wanted) && values;
      }, expr);

    expect(missed.labels).toEqual({ reason: "budget" });
    await valuesOnce(exprOf("Calls of the window beside the limit, by account", 2), [[1], [1]]);
    await valuesOnce(exprOf("Each collector"), [[2]]);
    await valuesOnce(exprOf("Accounts that each collector calls"), [[2]]);
  });
});
