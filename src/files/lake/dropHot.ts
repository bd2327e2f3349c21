/** Drops quotes from the database that are in the lake: whole partitions or chunks, and only behind files that are proven anew. */
import type pg from "pg";
import { digestsOf } from "../../archive/export/snapshot.ts";
import { readColumns } from "../../archive/export/exportColumns.ts";
import { dropRange, type HotRange, readHotRanges } from "../../archive/export/hotRows.ts";
import { readLateDays, type WrittenDay } from "../../archive/export/lakeRows.ts";
import { dateOf, instantFromDate, microsOf } from "../../ground/clock.ts";
import { addDays, exchangeDate } from "../../market/calendar/dates.ts";
import { fileDigests } from "./fileDigests.ts";
import { type DayManifest, type LakeFiles, tableOf } from "./lakeFiles.ts";
import type { DropReport } from "./lakeReports.ts";
import { HOT_EXPORTS, isSame } from "./lakeTables.ts";
import { hotFilesOf } from "./whichLake.ts";

/**
 * Drops what ends before `before`. Each stretch goes in one transaction: its rows are looked at once more while nobody can
 * change them, and each exchange date of theirs must be in a file that is read again and has the very same rows.
 *
 * @throws the database's errors; a stretch is whole or gone
 */
export async function dropHot(
  pool: pg.Pool,
  { files, before, signal }: { files: LakeFiles; before: Date; signal: AbortSignal },
): Promise<DropReport> {
  const report: DropReport = { dropped: [], notDropped: [] };
  for (const range of await readHotRanges(pool, instantFromDate(before))) {
    signal.throwIfAborted();
    const { from, to } = range;
    const written = await files.days(datesOf(range));
    const days = new Map([...written].filter(([, { complete }]) => complete));
    const quotes = await dropRange(pool, range, {
      days: Array.from(days.values(), (day) => ({ date: day.date, files: hotFilesOf(day) })),
      prove: (client) => proven(client, { files, range, days }),
    });
    if (typeof quotes === "number") {
      if (quotes > 0) report.dropped.push({ from, to, quotes });
    } else report.notDropped.push({ from, to, why: quotes });
  }
  return report;
}

/** What the database is asked about a date's files with. */
export function writtenOf({ date, source: { snapshot }, writtenAt }: DayManifest): WrittenDay {
  return { date, snapshot, writtenAt };
}

function datesOf({ from, to }: HotRange): string[] {
  const dates: string[] = [];
  const last = exchangeDate(new Date(dateOf(to).getTime() - 1));
  for (let date = exchangeDate(dateOf(from)); date <= last; date = addDays(date, 1)) dates.push(date);
  return dates;
}

/** @returns how many quotes there are, all of which are in proven files; or why they must stay */
async function proven(
  client: pg.ClientBase,
  { files, range, days }: { files: LakeFiles; range: HotRange; days: ReadonlyMap<string, DayManifest> },
): Promise<number | string> {
  const [from, to] = [microsOf(range.from), microsOf(range.to)];
  const late = await readLateDays(client, Array.from(days.values(), writtenOf));
  let quotes = 0;
  for (const table of HOT_EXPORTS) {
    const { name } = table;
    const columns = await readColumns(client, name);
    for (const date of datesOf(range)) {
      const within = { from: range.from, to: range.to };
      const rows = { from: date, to: date, symbols: null, within };
      const truth = await digestsOf(client, { table, columns }, rows);
      if (truth.rows === 0) continue;
      const day = days.get(date);
      const file = day && tableOf(day, name);
      if (!day || !file) return `${date} is not in the lake`;
      if (late.includes(date)) return `${date} has changed since it was written`;
      if (!(await files.is(file))) return `${file.path} is not what its manifest says`;
      const found = await fileDigests(files.pathOf(file), file.rows, { column: "observed_at", from, to });
      const columnsFound = file.columns.map((column, place) => ({ ...column, ...found.columns[place] }));
      if (!isSame({ ...found, columns: columnsFound }, truth))
        return `${file.path} does not have all ${name} of ${date}`;
      if (name === "quotes") quotes += truth.rows;
    }
  }
  return quotes;
}
