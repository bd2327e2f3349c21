/** The dashboards for Grafana, and their queries as Grafana sends them. */
import { readdirSync } from "node:fs";
import { fileText } from "./files.ts";

type Target = { refId: string; datasource: { type: string; uid: string }; format: string; rawSql: string };
type Panel = {
  id: number;
  type: string;
  title: string;
  datasource: { uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets: Target[];
};
type Variable = {
  name: string;
  type: string;
  query: string;
  datasource?: { uid: string };
  current: { value?: string | string[] };
  includeAll?: boolean;
};
type Dashboard = {
  time: { from: string; to: string };
  uid: string;
  title: string;
  timezone: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: Variable[] };
};

/** Where they are. */
export const DIR = "deploy/grafana/dashboards";
/** Both dashboards, by the names of their files. */
export const dashboards = readdirSync(new URL(`../../${DIR}`, import.meta.url)).map((name) => ({
  name,
  dashboard: JSON.parse(fileText(`${DIR}/${name}`)) as Dashboard,
}));
/** What the variables are. */
export type Values = Record<string, string | readonly string[]>;

/** SQL as Grafana sends it: macros of its PostgreSQL data source, then the dashboard's variables. */
export function expandedAt(sql: string, values: Values, { from, to }: { from: string; to: string }): string {
  const seconds = (text: string): number => {
    const [, count = "5", unit = "m"] = /^'?(\d+)([smh])'?$/.exec(text === "$__interval" ? "5m" : text) ?? [];
    return Number(count) * { s: 1, m: 60, h: 3_600 }[unit as "s" | "m" | "h"];
  };
  const group = (column: string, interval: string): string =>
    `floor(extract(epoch from ${column})/${seconds(interval)})*${seconds(interval)}`;
  return sql
    .replace(
      /\$__timeGroupAlias\(([\w.]+), ('\w+'|\$__interval)\)/g,
      (_, column: string, interval: string) => `${group(column, interval)} AS "time"`,
    )
    .replace(/\$__timeGroup\(([\w.]+), ('\w+'|\$__interval)\)/g, (_, column: string, interval: string) =>
      group(column, interval),
    )
    .replace(/\$__timeFilter\(([\w.]+)\)/g, `$1 BETWEEN '${from}' AND '${to}'`)
    .replaceAll("$__timeFrom()", `'${from}'`)
    .replaceAll("$__timeTo()", `'${to}'`)
    .replace(/\$\{(\w+):sqlstring\}/g, (_, name: string) =>
      [values[name] ?? ""]
        .flat()
        .map((value) => `'${value.replaceAll("'", "''")}'`)
        .join(),
    )
    .replace(/\$\{(\w+):raw\}/g, (_, name: string) => String(values[name] ?? ""));
}
