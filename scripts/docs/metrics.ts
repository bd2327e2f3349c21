/** `docs/metrics.md`, from the table of metrics. */
import { LATENESS_BUCKETS, METRICS, type MetricName } from "../../src/web/monitoring/definitions.ts";
import { code, GENERATED, markdownTable, paragraphs } from "./markdown.ts";

/** The page. */
export function metricsPage(): string {
  const names = Object.keys(METRICS) as MetricName[];
  const rows = names.map((name) => {
    const { kind, help, labels = {}, always = false } = METRICS[name];
    const labelText = Object.entries(labels).map(
      ([label, values]) =>
        `${code(label)}: ${typeof values === "string" ? values : values.map(code).join(", ")}`,
    );
    return [
      code(name),
      kind,
      labelText.join("; "),
      `${help}${always ? " Also from `quotekeeper web`." : ""}`,
    ];
  });
  return paragraphs(
    GENERATED,
    "# Metrics",
    "Source: `src/web/monitoring/definitions.ts`.",
    "`quotekeeper start` and `quotekeeper web` answer `/metrics` in Prometheus' text format, at the address of the dashboard. With `QUOTEKEEPER_WEB_TOKEN` set, it wants the token as `Authorization: Bearer`. [Watch it](monitoring.md) shows the scrape configuration and alert rules.",
    "Labels have the values named here and no others: no symbol, no address, no credential is ever one. What is an account's has the label `account`, also where there is one; `sum without (account)` is the whole. Its series are there from its first moment, and go when it does. What cannot be found out at the moment is absent, and not 0. Counters begin anew with the process. `process_*` and `nodejs_*` are [prom-client](https://www.npmjs.com/package/prom-client)'s own.",
    markdownTable(["Metric", "Kind", "Labels", "What it says"], rows),
    `The buckets of \`quotekeeper_slot_lateness_seconds\` end at ${LATENESS_BUCKETS.join(", ")} seconds.`,
  );
}
