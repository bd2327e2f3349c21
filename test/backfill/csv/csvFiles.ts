/** CSV files on disk, and what became of them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../../support/tempDir.ts";
import { run } from "../../cli/edges.ts";
import type { BackfillWorld } from "../world.ts";

/** The numbers of a report. */
export type Report = Record<string, number>;

/** The header of the files here. */
export const HEADER = "instrument,observed_at,bid,ask,last,volume";

/** A CSV file on disk. */
export function fileOf(csv: string | Buffer, name = "quotes.csv"): string {
  const path = join(tempDir(), name);
  writeFileSync(path, csv);
  return path;
}

/** Imports one. */
export async function backfill(world: BackfillWorld, file: string, ...argv: string[]) {
  const { exitCode, stdout, stderr } = await run(["backfill", "--csv", file, ...argv, "--json"], world.env);
  const printed = stdout.startsWith("{") ? stdout : "{}";
  const { report, resumed, remarks } = JSON.parse(printed) as {
    report?: Report;
    resumed?: boolean;
    remarks?: string[];
  };
  return { exitCode, report, resumed, remarks: remarks ?? [], stderr };
}

/** Time, instrument and values of all quotes, by time. */
export async function rows(
  { pool }: Pick<BackfillWorld, "pool">,
  columns = "q.bid, q.ask, q.last, e.volume",
) {
  const { rows: found } = await pool.query<{ line: string }>(
    `select concat_ws(' ', to_char(q.observed_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'),
       i.symbol || coalesce('/' || i.root, ''), i.expiration, i.option_type, trim_scale(i.strike), ${columns}) as line
     from quotes q join instruments i on i.id = q.instrument_id
     join extended_quotes e using (instrument_id, observed_at, source_id)
     order by q.observed_at, i.symbol, i.strike, i.root`,
  );
  return found.map(({ line }) => line);
}

/** Name, reason and detail of all dead letters. */
export async function letters({ pool }: Pick<BackfillWorld, "pool">) {
  const { rows: found } = await pool.query<{ line: string }>(
    "select concat_ws(' | ', instrument, reason, detail) as line from dead_letters order by observed_at, ordinal",
  );
  return found.map(({ line }) => line);
}

/** `count` rows, one a second. */
export function series(count: number, from = 0): string {
  const lines = Array.from({ length: count }, (_, place) => {
    const at = new Date(Date.UTC(2026, 10, 18, 9, 30) + (from + place) * 1_000).toISOString().slice(0, 19);
    return `AAPL,${at}-05:00,,,${150 + (from + place) / 100},`;
  });
  return lines.map((line) => `${line}\n`).join("");
}
