/** Brings rows of the lake back into the archive: quotes and extended quotes of whole exchange dates. */
import type pg from "pg";
import { bringBack, type FileRows } from "../../archive/export/hotRows.ts";
import { readLateDays } from "../../archive/export/lakeRows.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { rawColumns, textOf } from "../tables/readParquet.ts";
import { writtenOf } from "./dropHot.ts";
import { type DayManifest, HOT_TABLES, type LakeFiles, tableOf } from "./lakeFiles.ts";
import type { RestoreReport } from "./lakeReports.ts";
import { HOT_EXPORTS } from "./lakeTables.ts";
import { faultOf } from "./verifyLake.ts";
import type { OpenLake } from "./whichLake.ts";

type RestoreOptions = {
  lake: Pick<OpenLake, "files" | "lacking">;
  from: string;
  to: string;
  signal: AbortSignal;
  onDate: (date: string, rows: number) => void;
};

/**
 * Brings back what the lake has from one exchange date to another, both included; each date in one transaction. Rows that are
 * there already stay as they are.
 *
 * @throws QuotekeeperError LAKE_UNPROVEN when a file is not what its manifest says, or the archive has other rows than the
 *   file; the date is as it was then
 */
export async function restoreLake(
  pool: pg.Pool,
  { lake: { files, lacking }, from, to, signal, onDate }: RestoreOptions,
): Promise<RestoreReport> {
  const isWithin = (date: string): boolean => date >= from && date <= to;
  const report: RestoreReport = {
    dates: [],
    missing: lacking.filter(isWithin),
    rows: { quotes: 0, extended_quotes: 0 },
  };
  for (const date of await files.dates()) {
    signal.throwIfAborted();
    const day = isWithin(date) && !lacking.includes(date) ? await files.readDay(date) : null;
    if (!day) continue;
    const changed = (await readLateDays(pool, [writtenOf(day)])).includes(date);
    const rows = await restoreDay(pool, { files, day, changed });
    for (const table of HOT_TABLES) report.rows[table] += rows[table];
    report.dates.push(date);
    onDate(date, report.rows.quotes);
  }
  return report;
}

/**
 * One date, in one transaction.
 *
 * @param options.changed see `bringBack`
 * @returns how many rows were not there
 */
export async function restoreDay(
  pool: pg.Pool,
  { files, day, changed }: { files: LakeFiles; day: DayManifest; changed: boolean },
): Promise<RestoreReport["rows"]> {
  const all: FileRows[] = [];
  for (const table of HOT_EXPORTS) {
    const file = tableOf(day, table.name);
    if (!file) continue;
    const fault = await faultOf(files, file);
    if (fault !== null) throw new QuotekeeperError("LAKE_UNPROVEN", `${files.pathOf(file)} ${fault}`);
    const { rows, columns } = file;
    const lines = (wanted: readonly string[]): AsyncGenerator<string> =>
      copyLines({ path: files.pathOf(file), rows }, wanted);
    all.push({ table, rows, columns, lines });
  }
  const counts = await bringBack(pool, day.date, { lake: files.dir, all, changed });
  const countOf = (name: (typeof HOT_TABLES)[number]): number =>
    counts[all.findIndex(({ table }) => table.name === name)] ?? 0;
  return { quotes: countOf("quotes"), extended_quotes: countOf("extended_quotes") };
}

/** Characters that end a value or a line of COPY's text, or begin something else. */
const SPECIAL = /[\\\t\n\r]/gu;

/** A file's rows as COPY's text. Files of ours have numbers, times and booleans there, and no text. */
async function* copyLines(
  file: { path: string; rows: number },
  wanted: readonly string[],
): AsyncGenerator<string> {
  for await (const { rows, columns } of rawColumns(file.path, file.rows)) {
    const cells = wanted.map((name) => {
      const column = columns.find(({ element }) => element.name === name);
      if (!column) return () => null;
      const text = textOf(column.element);
      return (row: number): string | null => {
        const value = column.values[row];
        return typeof value === "string" ? value.replace(SPECIAL, "\\$&") : text(value);
      };
    });
    let lines = "";
    for (let row = 0; row < rows; row++) lines += `${cells.map((cell) => cell(row) ?? "\\N").join("\t")}\n`;
    yield lines;
  }
}
