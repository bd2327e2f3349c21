/** The dashboards that ask the archive, and their queries as Grafana sends them. */
import { boardsOn } from "./grafanaBoards.ts";

/** The dashboards on PostgreSQL, by the names of their files. */
export const dashboards = boardsOn("grafana-postgresql-datasource");
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
