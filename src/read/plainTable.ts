/**
 * The plain table: CSV whose header has the names of docs/columns.md. What a file by hand is, what a map makes, and what the journal
 * keeps of both. Pure.
 */
import { isUtf8 } from "node:buffer";
import { closest, distance } from "fastest-levenshtein";
import { parse } from "csv-parse/sync";
import { NUMBER_FIELDS } from "../quotes/fields.ts";
import type { Cell } from "./cell.ts";
import { exact } from "./formula.ts";
import { MAX_ROW_BYTES } from "./splitRows.ts";

/** What names the instrument of a row: one name, or its parts. */
export const PARTS = ["symbol", "root", "expiration", "option_type", "strike", "security_type"] as const;

const SAID = ["exchange", "description"] as const;

/** Where a row of a map stands in the vendor's file, and why the map's engine has refused a line, with its text. */
const PLACES = ["file", "row", "line", "refused", "text"] as const;

/** Columns of an export that a table without its directory cannot use: numbers of the archive that it comes from. */
const OF_EXPORTS = ["instrument_id", "source_id", "source"] as const;

const VALUES = NUMBER_FIELDS.map(({ column }) => column);

export type PlainColumn =
  | "instrument"
  | "observed_at"
  | "delayed"
  | (typeof PARTS)[number]
  | (typeof SAID)[number]
  | (typeof PLACES)[number]
  | (typeof VALUES)[number];

const READ: readonly PlainColumn[] = ["instrument", ...PARTS, "observed_at", "delayed", ...SAID, ...VALUES];

/** Letters that a name may be off from the one that was meant. */
const MOST_TYPOS = 3;

/**
 * What is wrong with the columns of a file; empty: nothing is.
 *
 * @param isMapped whether a map made them, which may also name places
 */
export function columnProblems(columns: readonly string[], isMapped: boolean): string[] {
  const known: readonly string[] = [...READ, ...OF_EXPORTS, ...(isMapped ? PLACES : [])];
  const has = (column: string): boolean => columns.includes(column);
  const parts = PARTS.filter(has);
  const contract = ["expiration", "option_type", "strike"].filter(has);
  const twice = new Set(columns.filter((column, place) => columns.indexOf(column) < place));
  return [
    ...columns.flatMap((column, place) => (known.includes(column) ? [] : [unknown(column, place, known)])),
    ...known.filter((column) => twice.has(column)).map((column) => `the column ${column} stands twice`),
    ...(has("observed_at") ? [] : ["there is no column observed_at, the time of each row"]),
    ...(has("instrument") || has("symbol")
      ? []
      : ["there is no column instrument, and none of its parts: symbol, expiration, option_type, strike"]),
    ...(has("instrument") && parts.some((part) => part !== "security_type")
      ? [`the column instrument says it all: it does not go with ${parts.join(", ")}`]
      : []),
    ...(contract.length === 1 || contract.length === 2
      ? [`expiration, option_type and strike go together, and there is ${contract.join(" and ")}`]
      : []),
    ...(VALUES.some(has) ? [] : ["there is no column of values, such as bid, ask or last"]),
  ];
}

/** Shows no name that is not nearly a column's: the file may be another one than was meant, with secrets in its first line. */
function unknown(column: string, place: number, known: readonly string[]): string {
  const nearest = closest(column.toLowerCase(), [...known]);
  const isNear = distance(column.toLowerCase(), nearest) <= Math.min(MOST_TYPOS, nearest.length - 1);
  const which = `column ${place + 1} of the file has a name that no column of the archive has`;
  return isNear && /^\w+$/u.test(column) ? `${which}: ${column}, did you mean ${nearest}?` : which;
}

/** The cells of a row by column: trimmed; null where there is none. */
export type TextOf = (column: PlainColumn) => string | null;

/** The names of a header line, without a byte order mark. */
export function splitHeader(header: Buffer): string[] {
  const cells = cellsOf(header);
  return cells.ok ? cells.value.map((name) => name.replace(/^\u{feff}/u, "").trim()) : [];
}

/** Reads rows below a header: the cells, or why it is no row. */
export function createCellReader(columns: readonly string[]): (row: Buffer) => Cell<TextOf> {
  const places = new Map(columns.map((column, place) => [column, place]));
  return (row) => {
    const cells = cellsOf(row);
    if (!cells.ok) return cells;
    const { length } = cells.value;
    if (length !== columns.length)
      return { ok: false, problem: `it has ${length} columns, and ${columns.length} are expected` };
    return {
      ok: true,
      value: (column) => {
        const place = places.get(column);
        const text = place === undefined ? "" : exact((cells.value[place] ?? "").trim());
        return text === "" ? null : text;
      },
    };
  };
}

function cellsOf(bytes: Buffer): Cell<string[]> {
  if (bytes.length > MAX_ROW_BYTES)
    return { ok: false, problem: `it is no row: it is longer than ${MAX_ROW_BYTES} bytes` };
  if (!isUtf8(bytes)) return { ok: false, problem: "it is not UTF-8" };
  const row = bytes.toString("utf8");
  // Nearly every row is without quotes.
  if (!row.includes('"')) return { ok: true, value: row.split(",") };
  try {
    // csv-parse would end the row at a carriage return inside of it. At its end there may be several.
    const [cells = []] = parse(row.replace(/\r+$/u, ""), { record_delimiter: "\n" });
    return { ok: true, value: cells };
  } catch (error) {
    return { ok: false, problem: `it is no row of CSV: ${(error as Error).message}` };
  }
}
