/** Maps that are run over small files, as tests need them. */
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { REFUSED_COLUMNS, type MapOptions, runMap, sessionDays } from "../../../src/files/maps/runMap.ts";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { tempDir } from "../../support/tempDir.ts";

export const days = sessionDays(createCalendar(), "2026-12-31");

type Row = Record<string, string | null>;

/** @returns the rows of the map's answer, and the lines that DuckDB refused */
export async function mapped(
  sql: string,
  files: readonly string[],
  more: Partial<MapOptions> = {},
): Promise<{ rows: Row[]; refused: (string | null)[][] }> {
  const answer = { rows: [] as Row[], refused: [] as (string | null)[][] };
  const { signal } = new AbortController();
  const options = { sql, mapFile: "map.sql", files, spillDir: tempDir(), days, signal, ...more };
  for await (const { columns, rows } of runMap(options)) {
    if (columns === REFUSED_COLUMNS) answer.refused.push(...rows);
    else
      for (const row of rows)
        answer.rows.push(Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null])));
  }
  return answer;
}

/** A file with these bytes. @returns its path */
export function fileOf(content: string | Buffer, name = "quotes.csv"): string {
  const path = join(tempDir(), name);
  writeFileSync(path, content);
  return path;
}

/** What expressions of SQL give over one row. */
export async function valuesOf(expressions: readonly string[]): Promise<(string | null)[]> {
  const list = expressions.map((expression, at) => `${expression} as c${at}`);
  const sql = `select 'A' as instrument, '' as observed_at, ${list.join(",\n")} from input`;
  const { rows } = await mapped(sql, [fileOf("a\n1\n")]);
  return expressions.map((_, at) => rows[0]?.[`c${at}`] ?? null);
}
