/** `docs/metrics.md`, from the table of metrics. */
import { LATENESS_BUCKETS, METRICS, type MetricName } from "../../src/web/monitoring/definitions.ts";
import { code, GENERATED, paragraphs } from "./markdown.ts";

/** The page. */
export function metricsPage(): string {
  const names = Object.keys(METRICS) as MetricName[];
  const lines = names.map((name) => {
    const { kind, help, labels = {}, always = false } = METRICS[name];
    const marks = [...(kind === "gauge" ? [] : [kind]), ...Object.entries(labels).map(labelText)];
    return `- ${code(name)}${always ? "\\*" : ""}${marks.length > 0 ? ` (${marks.join("; ")})` : ""}: ${help}`;
  });
  return paragraphs(
    GENERATED,
    "# Metrics",
    "Source: `src/web/monitoring/definitions.ts`.",
    "`quotekeeper start` and `quotekeeper web` answer `/metrics` ([how to scrape it](monitoring.md#metrics)); `web` has only those with a star. Metrics are gauges where nothing else stands in brackets.",
    "Labels have the values named here and no others: no symbol, address or credential. `account` is the account's name, `default` where there is one without a name; `sum without (account)` is the whole. What cannot be found out at the moment is absent, not 0. Counters begin anew with the process. `process_*` and `nodejs_*` are [prom-client](https://www.npmjs.com/package/prom-client)'s own.",
    lines.join("\n"),
    `The buckets of \`quotekeeper_slot_lateness_seconds\` end at ${LATENESS_BUCKETS.join(", ")} seconds.`,
  );
}

/** A label, with its values unless the head of the page has them. */
function labelText([label, values]: [string, readonly string[] | string]): string {
  if (label === "account") return code(label);
  return `${code(label)}: ${typeof values === "string" ? values : values.map(code).join(", ")}`;
}
