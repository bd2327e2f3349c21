/** Reads a map and holds it against its file's header: all problems at once, each with its line. */
import { basename } from "node:path";
import { cleanText } from "../../outsideText.ts";
import type { CsvCall, CsvColumn, CsvReading, SymbolNames } from "../../read/csvCall.ts";
import { createRowReader, splitHeader } from "../../read/rowReader.ts";
import { readIso } from "../../read/cellTime.ts";
import { describeProblem, type FileProblem, readYamlFile } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFile } from "../../plainFiles.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { COLUMN_NAMES, type CsvMap, isOfDate, MAP_TEXT_KEYS, mapSchema, outlineSchema } from "./mapSchema.ts";
import type { FileStart, RowsForm } from "./readRows.ts";
import { shown } from "../../read/cell.ts";
import { counted, someNames } from "../../figures.ts";

/** A map that fits its file: how to read every piece of it but for the line it begins at, the lines before, its source. */
export type ReadMap = { call: CsvReading; skip: number; source: string | null };

/**
 * @param file.startOf reads its first two rows, found as the map says; `overrides` are those of jobs/calendar.yaml
 * @throws QuotekeeperError BACKFILL_MAP_INVALID
 */
export async function readMap(mapFile: string, { csvFile, startOf, overrides }: CsvSource): Promise<ReadMap> {
  const text = await readTextFile(mapFile).catch((cause: NodeJS.ErrnoException) => {
    throw invalid([{ file: mapFile, line: 1, message: `the file cannot be read (${cause.code})` }]);
  });
  const read = readYamlFile(mapFile, text, { schema: mapSchema, textKeys: MAP_TEXT_KEYS });
  const outline = readYamlFile(mapFile, text, { schema: outlineSchema, textKeys: MAP_TEXT_KEYS });
  // What separates columns must be known before a header can be held against anything.
  if (!outline.ok) throw invalid(read.ok ? outline.problems : read.problems);
  const start = await startOf(outline.value);
  const encoding = start.isUtf16 ? "utf-8" : outline.value.encoding;
  const names = outline.value.header ? splitHeader(start.header, { ...outline.value, encoding }) : null;
  const fit = fitColumns(outline.value.columns, names);
  const strange = fit.problems.map(({ path, message }): FileProblem => {
    return { file: mapFile, line: outline.lineOf(path), message };
  });
  if (!read.ok || strange.length > 0) throw invalid([...(read.ok ? [] : read.problems), ...strange]);
  const { value: map, lineOf } = read;
  const { time = [], ...fields } = fit.columns;
  const columns = closeAsLast(
    Object.fromEntries(Object.entries(fields).map(([field, [only]]) => [field, only])),
  );
  const given = { ...map, encoding };
  const call = callOf(given, {
    file: basename(csvFile),
    columns: columns as CsvCall["columns"],
    time,
    overrides,
  });
  if (lacksZone(call, start, map.header)) {
    const message = "timezone is missing: the times of the file have no offset of their own";
    throw invalid([{ file: mapFile, line: lineOf(["columns", "time"]), message }]);
  }
  return { call, skip: map.skip, source: map.source === undefined ? null : cleanText(map.source) };
}

type CsvSource = {
  csvFile: string;
  startOf: (form: RowsForm) => Promise<FileStart>;
  overrides: readonly CalendarOverride[];
};

/** What a map's options come to in a file. */
type FittedFile = Pick<CsvSource, "overrides"> & {
  file: string;
  columns: CsvCall["columns"];
  time: CsvColumn[];
};

function callOf(map: CsvMap, { file, columns, time: timeColumns, overrides }: FittedFile): CsvReading {
  const { delayed, header, delimiter, encoding, decimal, absent, ambiguous, expirationFormat } = map;
  const { time, ...constants } = map.constants;
  const type = map.securityType === undefined ? {} : { securityType: map.securityType };
  return {
    form: "csv",
    file,
    delayed,
    header,
    delimiter,
    encoding,
    decimal,
    absent,
    columns,
    expirationFormat,
    ...(map.raw && { raw: true as const }),
    constants: { ...type, ...closeAsLast(withoutUndefined(constants)) },
    time: {
      columns: timeColumns,
      format: map.timeFormat,
      timezone: map.timezone ?? null,
      ambiguous,
      ...(time !== undefined && { constant: time }),
      ...(map.knownAt !== undefined && { knownAt: map.knownAt }),
      ...(map.knownAt?.includes("close") === true && overrides.length > 0 && { calendar: [...overrides] }),
    },
    // Absent where the map says nothing: a map of an earlier release is the same one still, and its pieces are known.
    ...(map.strip && { strip: withoutUndefined(map.strip) }),
    ...(map.scale && { scale: closeAsLast(withoutUndefined(map.scale)) }),
    ...(map.wholePart && { wholePart: map.wholePart }),
    ...(map.symbols && { symbols: symbolNames(map.symbols) }),
    ...(map.numberSigns && { numberSigns: true as const }),
    ...(map.volumeOf === "bar" && { volumeOf: map.volumeOf }),
  };
}

function symbolNames({ upper, classMark, rename }: NonNullable<CsvMap["symbols"]>): SymbolNames {
  return { ...(upper && { upper: true as const }), ...withoutUndefined({ classMark, rename }) };
}

function withoutUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}

/** The close of a bar is the last trade in it. */
function closeAsLast<T>({ close, ...fields }: Record<string, T>): Record<string, T> {
  return close === undefined ? fields : { ...fields, last: close };
}

/** Whether the first row already tells that a zone is needed. */
function lacksZone(call: CsvReading, { header, first }: FileStart, named: boolean): boolean {
  // A date has no zone.
  if (call.time.timezone !== null || call.time.format !== "iso" || isOfDate(call.time.knownAt)) return false;
  const row = named ? first : header;
  if (row === null) return false;
  const reader = createRowReader(call, named ? header : null);
  const fields = reader.fieldsOf(row);
  if (!fields.ok) return false;
  let asked = false;
  readIso(reader.timeTextOf(fields.value), () => ((asked = true), { ok: false, problem: "" }));
  return asked;
}

function invalid(unsorted: readonly FileProblem[]): QuotekeeperError {
  const problems = [...unsorted].sort((a, b) => a.line - b.line);
  const count = counted(problems.length, "problem");
  return new QuotekeeperError("BACKFILL_MAP_INVALID", `${count} in the map:`, {
    problems: problems.map(describeProblem),
  });
}

type FittedColumns = {
  /** By option: the columns; of all but `time` there is one. */
  columns: Record<string, CsvColumn[]>;
  problems: { path: string[]; message: string }[];
};

/** Most names of a header that a problem lists. */
const MOST_NAMES = 30;

/**
 * A name of the header goes before a number.
 *
 * @param written what the map has; names that it may not have are left out, the schema tells of them
 * @param names of the header; null: the file has none
 */
function fitColumns(
  written: Readonly<Record<string, string | string[]>>,
  names: readonly string[] | null,
): FittedColumns {
  const fitted: FittedColumns = { columns: {}, problems: [] };
  for (const [option, given] of Object.entries(written)) {
    if (!COLUMN_NAMES.includes(option)) continue;
    const found = [given].flat().map((text) => ({ text, column: columnOf(text.trim(), names) }));
    for (const { text, column } of found)
      if (typeof column === "object")
        fitted.problems.push({
          path: ["columns", option],
          message: `columns.${option} is ${text}: ${column.problem}`,
        });
    fitted.columns[option] = found.flatMap(({ column }) => (typeof column === "object" ? [] : [column]));
  }
  return fitted;
}

function columnOf(text: string, names: readonly string[] | null): CsvColumn | { problem: string } {
  const times = names?.filter((name) => name === text).length ?? 0;
  if (times === 1) return text;
  if (times > 1) return { problem: `the header has it ${times} times: give the column's number, from 1 on` };
  const isNumber = /^[1-9]\d{0,3}$/u.test(text);
  if (isNumber && (names === null || Number(text) <= names.length)) return Number(text);
  // Without a header it is the schema that asks for numbers.
  if (names === null) return isNumber ? Number(text) : text;
  return { problem: `expected one of ${listed(names)}` };
}

function listed(names: readonly string[]): string {
  const texts = names.map((name) => shown(name).slice(1, -1));
  return someNames(texts, MOST_NAMES);
}
