/** Reads the rows of a CSV file as its map says. Pure. */
import { isUtf8 } from "node:buffer";
import { parse } from "csv-parse/sync";
import type { Instant } from "../clock.ts";
import { type Cell, shown } from "./cell.ts";
import { exact } from "./formula.ts";
import { createTimeReader } from "./cellTime.ts";
import {
  type Affixes,
  type CsvColumn,
  type CsvField,
  type CsvReading,
  SYMBOL_FIELDS,
  type SymbolNames,
} from "./csvCall.ts";
import { MAX_ROW_BYTES } from "./splitRows.ts";

/** How the text of a file may be written. */
export const ENCODINGS = ["utf-8", "windows-1252"] as const;

/** The trimmed text of a field; null where the row says nothing of it. */
export type TextOf = (field: CsvField) => string | null;

export type RowReader = {
  columns: number;
  /** The values of a row, or why it is none. */
  fieldsOf: (row: Buffer) => Cell<string[]>;
  /** What a row says of each field of the map, constants in place of what is empty. */
  textOf: (fields: readonly string[]) => TextOf;
  /** What a row says of its time, as it is written; empty where it says nothing. */
  timeTextOf: (fields: readonly string[]) => string;
  timeOf: (fields: readonly string[]) => Cell<Instant>;
};

/**
 * @param header the file's header line; null where it has none
 * @throws RangeError for an unknown time zone; the import checks it before it journals a call
 */
export function createRowReader(call: CsvReading, header: Buffer | null): RowReader {
  const names = header === null ? null : splitHeader(header, call);
  const places = new Map<CsvColumn, number>();
  names?.forEach((name, place) => places.set(name, places.get(name) ?? place));
  const placeOf = (column: CsvColumn): number =>
    typeof column === "number" ? column - 1 : (places.get(column) ?? -1);
  const needed = Math.max(0, ...columnsOf(call).map(placeOf)) + 1;
  const columns = names?.length ?? needed;
  const readTime = createTimeReader(call);
  const decode = decoder(call);
  const valueOf = (fields: readonly string[], column: CsvColumn | undefined): string =>
    column === undefined ? "" : textIn((fields[placeOf(column)] ?? "").trim());
  const absent = new Set(call.absent);
  const textIn = call.raw === true ? (text: string): string => text : exact;
  const plain = plainer(call);
  const timeTextOf = (fields: readonly string[]): string => {
    const text = call.time.columns
      .map((column) => valueOf(fields, column))
      .join(" ")
      .trim();
    return text === "" || call.time.constant === undefined ? text : `${text} ${call.time.constant}`;
  };
  return {
    columns,
    textOf: (fields) => (field) => {
      const text = valueOf(fields, call.columns[field]) || (call.constants[field] ?? "");
      return text === "" || absent.has(text) ? null : plain(field, text);
    },
    fieldsOf: (row) => {
      if (row.length > MAX_ROW_BYTES)
        return { ok: false, problem: `it is no row: it is longer than ${MAX_ROW_BYTES} bytes` };
      const text = decode(row);
      const cells = text.ok ? cellsOf(text.value, call.delimiter) : text;
      if (!cells.ok) return cells;
      const { length } = cells.value;
      if (length >= columns) return cells;
      return { ok: false, problem: `it has ${length} columns, and ${columns} are expected` };
    },
    timeTextOf,
    timeOf: (fields) => {
      const text = timeTextOf(fields);
      const name = call.time.columns.join(", ");
      if (text === "") return { ok: false, problem: `${name} is empty, and each row needs its time` };
      const read = readTime(text);
      if (!read.ok) return { ok: false, problem: `${name} is ${shown(text)}: ${read.problem}` };
      return read;
    },
  };
}

/** Removes from a value what a vendor has put around it. */
function plainer(call: Pick<CsvReading, "strip" | "symbols">): (field: CsvField, text: string) => string {
  const strip = stripper(call);
  const rename = createRenamer(call.symbols ?? {});
  const names = new Set<CsvField>(SYMBOL_FIELDS);
  return (field, text) => (names.has(field) ? rename(strip(field, text)) : text);
}

function stripper({ strip = {} }: Pick<CsvReading, "strip">): (field: CsvField, text: string) => string {
  const affixesOf: Partial<Record<CsvField, Affixes>> = strip;
  return (field, text) => {
    const affixes = affixesOf[field];
    if (affixes === undefined) return text;
    const begun = affixes.prefix.find((one) => text.startsWith(one))?.length ?? 0;
    const rest = text.slice(begun);
    const ended = affixes.suffix.find((one) => rest.endsWith(one))?.length ?? 0;
    return rest.slice(0, rest.length - ended);
  };
}

/** Renames symbols; each name is done once at most. */
function createRenamer({ upper, classMark, rename = {} }: SymbolNames): (symbol: string) => string {
  const renamed = new Map(Object.entries(rename));
  return (symbol) => {
    const written = upper === true ? symbol.toUpperCase() : symbol;
    const named = classMark === undefined ? written : withPoint(written, classMark);
    return renamed.get(named) ?? named;
  };
}

/** One letter is a class; `BTC-USD` and `BAC-PL` are no classes. */
function withPoint(symbol: string, mark: string): string {
  const place = symbol.length - mark.length - 1;
  const isClass =
    place > 0 &&
    symbol.slice(place, -1) === mark &&
    /^[a-z]$/iu.test(symbol.slice(-1)) &&
    /^[a-z]+$/iu.test(symbol.slice(0, place));
  return isClass ? `${symbol.slice(0, place)}.${symbol.slice(-1)}` : symbol;
}

/** The columns of a header line, trimmed, without a byte order mark. */
export function splitHeader(header: Buffer, call: Pick<CsvReading, "delimiter" | "encoding">): string[] {
  const text = decoder(call)(header);
  if (!text.ok) return [];
  const cells = cellsOf(text.value.replace(/^\u{feff}/u, ""), call.delimiter);
  return cells.ok ? cells.value.map((name) => name.trim()) : [];
}

function decoder({ encoding }: Pick<CsvReading, "encoding">): (bytes: Buffer) => Cell<string> {
  if (encoding !== "utf-8") {
    const other = new TextDecoder(encoding);
    return (bytes) => ({ ok: true, value: other.decode(bytes) });
  }
  return (bytes) =>
    isUtf8(bytes)
      ? { ok: true, value: bytes.toString("utf8") }
      : { ok: false, problem: "it is not UTF-8; see `encoding` of the map" };
}

function columnsOf({ columns, time }: Pick<CsvReading, "columns" | "time">): CsvColumn[] {
  return [...time.columns, ...Object.values(columns)];
}

function cellsOf(row: string, delimiter: string): Cell<string[]> {
  // Nearly every row is without quotes.
  if (!row.includes('"')) return { ok: true, value: row.split(delimiter) };
  try {
    // csv-parse would end the row at a carriage return inside of it. At its end there may be several.
    const [cells = []] = parse(row.replace(/\r+$/u, ""), { delimiter, record_delimiter: "\n" });
    return { ok: true, value: cells };
  } catch (error) {
    return { ok: false, problem: `it is no row of CSV: ${(error as Error).message}` };
  }
}
