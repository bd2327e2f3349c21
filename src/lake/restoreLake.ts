/** Brings rows of the lake back into the archive: quotes and extended quotes of whole exchange dates. */
import type pg from "pg";
import { withSnapshot } from "../archive/export/snapshot.ts";
import { EXPORT_TABLES } from "../archive/export/tables.ts";
import { bringBack, type LinesBack } from "../archive/lake/hotRows.ts";
import { QuotekeeperError } from "../errors.ts";
import { rawColumns, textOf } from "../export/readParquet.ts";
import { type DayManifest, type LakeFiles, type LakeTable, tableOf } from "./lakeFiles.ts";
import { HOT_TABLES, isSame } from "./lakeTables.ts";

/** What came back. */
type RestoreReport = {
  dates: string[];
  /** Rows that were not there, by table. */
  rows: Record<(typeof HOT_TABLES)[number], number>;
};

/**
 * Brings back what the lake has from one exchange date to another, both included; each date in one transaction. Rows that are
 * there already stay as they are.
 *
 * @throws QuotekeeperError LAKE_UNPROVEN when a file is not what its manifest says, or the rows are not what the file has;
 *   the date is as it was then
 */
export async function restoreLake(
  pool: pg.Pool,
  {
    files,
    from,
    to,
    signal,
    onDate,
  }: {
    files: LakeFiles;
    from: string;
    to: string;
    signal: AbortSignal;
    onDate: (date: string, rows: number) => void;
  },
): Promise<RestoreReport> {
  const report: RestoreReport = { dates: [], rows: { quotes: 0, extended_quotes: 0 } };
  for (const date of await files.dates()) {
    signal.throwIfAborted();
    const day = date >= from && date <= to ? await files.readDay(date) : null;
    if (!day) continue;
    const rows = await restoreDay(pool, { files, day });
    await requireEqual(pool, day, signal);
    for (const table of HOT_TABLES) report.rows[table] += rows[table];
    report.dates.push(date);
    onDate(date, report.rows.quotes);
  }
  return report;
}

/** One date, in one transaction. @returns how many rows were not there */
export async function restoreDay(
  pool: pg.Pool,
  { files, day }: { files: LakeFiles; day: DayManifest },
): Promise<RestoreReport["rows"]> {
  for (const name of HOT_TABLES) {
    const file = tableOf(day, name);
    if (file && !(await files.is(file)))
      throw new QuotekeeperError("LAKE_UNPROVEN", `${files.pathOf(file)} is not what its manifest says`);
  }
  const there = HOT_TABLES.filter((name) => tableOf(day, name));
  const counts = await bringBack(
    pool,
    day.date,
    there.map((table): LinesBack => {
      const span: { first: bigint; last: bigint }[] = [];
      const path = files.pathOf(tableOf(day, table) as LakeTable);
      return {
        table,
        lines: (columns) => copyLines(path, columns, (times) => span.push(times)),
        span: () => joined(span),
      };
    }),
  );
  const countOf = (table: (typeof HOT_TABLES)[number]): number => counts[there.indexOf(table)] ?? 0;
  return { quotes: countOf("quotes"), extended_quotes: countOf("extended_quotes") };
}

function joined(spans: readonly { first: bigint; last: bigint }[]): { first: bigint; last: bigint } | null {
  const [one] = spans;
  if (!one) return null;
  return spans.reduce(
    (all, { first, last }) => ({
      first: first < all.first ? first : all.first,
      last: last > all.last ? last : all.last,
    }),
    one,
  );
}

/** A file's rows as COPY's text: numbers, times and booleans, in which nothing needs a backslash. */
async function* copyLines(
  path: string,
  wanted: readonly string[],
  onTimes: (times: { first: bigint; last: bigint }) => void,
): AsyncGenerator<string> {
  for await (const { rows, columns } of rawColumns(path)) {
    const taken = wanted.map((name) => {
      const column = columns.find(({ element }) => element.name === name);
      // A column that the archive got after the file was written.
      return column ? { values: column.values, text: textOf(column.element) } : null;
    });
    const times = (columns.find(({ element }) => element.name === "observed_at")?.values ?? []) as bigint[];
    const [first] = times;
    if (first !== undefined)
      onTimes({
        first: times.reduce((least, time) => (time < least ? time : least), first),
        last: times.reduce((most, time) => (time > most ? time : most), first),
      });
    let lines = "";
    for (let row = 0; row < rows; row++) {
      const values = taken.map((column) => (column ? (column.text(column.values[row]) ?? "\\N") : "\\N"));
      lines += `${values.join("\t")}\n`;
    }
    yield lines;
  }
}

async function requireEqual(pool: pg.Pool, day: DayManifest, signal: AbortSignal): Promise<void> {
  const { date } = day;
  await withSnapshot(pool, signal, async (snapshot) => {
    for (const name of HOT_TABLES) {
      const file = tableOf(day, name);
      const table = EXPORT_TABLES.find((one) => one.name === name);
      if (!file || !table) continue;
      const columns = await snapshot.columns(table);
      const truth = await snapshot.digests(table, columns, { from: date, to: date, symbols: null });
      if (truth.rows > file.rows) continue; // Rows have come since the date was written: they are in the next revision.
      if (!isSame(file, truth))
        throw new QuotekeeperError(
          "LAKE_UNPROVEN",
          `${date}: the archive's ${name} are not what the lake has`,
        );
    }
  });
}
