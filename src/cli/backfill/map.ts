/** The map of `backfill --csv --map`: the SELECT that makes a plain table of a vendor's files. */
import { rm } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { TableRows } from "../../backfill/csv/readRows.ts";
import { jobsInvalid } from "../../config/yamlFile.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { linesBefore } from "../../files/maps/fileLines.ts";
import { readingOf } from "../../files/maps/mapInput.ts";
import { type MappedRows, runMap, sessionDays } from "../../files/maps/runMap.ts";
import { addDays, exchangeDate } from "../../market/calendar/dates.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { readTextFile } from "../../ground/plainFiles.ts";
import type { RawRow } from "../../read/splitRows.ts";
import type { Edges } from "../../ground/edges.ts";
import { CALENDAR_FILE, readJobs } from "../../schedule/readJobs.ts";
import { makeCacheDir } from "../sqlDirs.ts";
import { csvCell } from "../terminal/csvCell.ts";

type OpenMap = {
  file: string;
  sql: string;
  /** The source that its comment `-- source: NAME` says; null: none. */
  source: string | null;
  /** The table that it makes of files. @throws as `runMap` */
  rowsOf: (files: readonly string[], signal: AbortSignal) => AsyncGenerator<TableRows, void>;
};

/** Several maps of one vendor may make one source. */
const SOURCE_LINE = /^--\s*source:\s*(\S.{0,63})$/imu;

/** How far ahead the days of the calendar go: as far as an import may. */
const DAYS_AHEAD = 366;

/** @throws QuotekeeperError BACKFILL_MAP_INVALID; JOBS_INVALID for a calendar that is wrong */
export async function openMap(config: Config, { clock }: Edges, file: string): Promise<OpenMap> {
  if (/\.ya?ml$/iu.test(file))
    throw new QuotekeeperError(
      "BACKFILL_MAP_INVALID",
      `${file}: a map is a SELECT since 0.9.0. docs/backfill-csv.md says how to write one, and docs/maps has those of the vendors`,
    );
  const sql = await readTextFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw new QuotekeeperError("BACKFILL_MAP_INVALID", `${file} cannot be read (${cause.code})`, { cause });
  });
  const calendar = createCalendar(await calendarOverrides(config));
  const days = sessionDays(calendar, addDays(exchangeDate(clock.now()), DAYS_AHEAD));
  const rowsOf = async function* (files: readonly string[], signal: AbortSignal) {
    const { own: spillDir } = await makeCacheDir(resolve(config.dataDir));
    try {
      const reading = readingOf(sql, file);
      const before = new Map<string, number | null>();
      for (const one of files) before.set(basename(one), await linesBefore(one, reading));
      yield* tableOf(runMap({ sql, mapFile: file, files, spillDir, days, signal }), before);
    } finally {
      await rm(spillDir, { recursive: true, force: true });
    }
  };
  return { file, sql, source: SOURCE_LINE.exec(sql)?.[1]?.trim() ?? null, rowsOf };
}

/**
 * Cells as a table has them, each row at its line of the table, and with its line of the vendor's file where that can be told.
 * How much of the files was read DuckDB does not say.
 */
async function* tableOf(
  mapped: AsyncIterable<MappedRows>,
  before: ReadonlyMap<string, number | null>,
): AsyncGenerator<TableRows, void> {
  let line = 2;
  for await (const { columns, rows } of mapped) {
    const [file, row] = [columns.indexOf("file"), columns.indexOf("row")];
    const isTold = file >= 0 && row >= 0 && !columns.includes("line");
    const lineOf = (cells: MappedRows["rows"][number]): string | null => {
      const lines = before.get(cells[file] ?? "") ?? null;
      return lines === null || cells[row] === null ? null : String(lines + Number(cells[row]));
    };
    const placed = rows.map((cells): RawRow => {
      const text = (isTold ? [...cells, lineOf(cells)] : cells)
        .map((cell) => csvCell(cell || null))
        .join(",");
      const placedRow = { bytes: Buffer.from(text), line, broken: false };
      line += text.split("\n").length;
      return placedRow;
    });
    const header = (isTold ? [...columns, "line"] : columns).map(csvCell).join(",");
    yield { header: Buffer.from(header), rows: placed, done: 0 };
  }
}

/** The days of jobs/calendar.yaml; none without that file. @throws QuotekeeperError JOBS_INVALID */
async function calendarOverrides({ jobsDir }: Config): Promise<CalendarOverride[]> {
  const { calendar, problems } = await readJobs(jobsDir).catch(() => ({ calendar: [], problems: [] }));
  const wrong = problems.filter(({ file }) => basename(file) === CALENDAR_FILE);
  if (wrong.length > 0) throw jobsInvalid(wrong);
  return calendar;
}
