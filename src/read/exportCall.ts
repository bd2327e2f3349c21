/** How the pieces of an export that is taken back stand in the journal: rows of one table each. */
import type { RecordSource } from "../journal/record.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../quotes/fields.ts";
import { isPlainCall } from "./plainCall.ts";

/** The source of the pieces. Their rows have the sources that the export says. */
export const EXPORT_SOURCE: RecordSource = { kind: "import", name: "quotekeeper export" };

/**
 * The number of that source, which no other is ever given. Exports leave it out: one that is taken back and made again is
 * the same.
 */
export const EXPORT_SOURCE_ID = 0;

/** What a contract or a security is told by, without its number: archives number instruments differently. */
const IDENTITY = [
  "security_type",
  "symbol",
  "expiration",
  "option_type",
  "strike",
  "type_assumed",
  "root",
] as const;

/** Which instrument, from which source, when. */
const KEY = [...IDENTITY, "source_kind", "source_name", "observed_at"] as const;

/** The columns of each table's rows in a piece: the archive's own, with what stands for its numbers. */
export const PIECE_COLUMNS = {
  sources: ["id", "kind", "name", "spot", "interest"],
  instruments: [
    "id",
    ...IDENTITY,
    "exchange",
    "description",
    "contract_size",
    // The type of the security that the option is on; null: the archive has none.
    "underlying_type",
    "first_seen_at",
    "last_seen_at",
    "exchange_at",
    "description_at",
    "contract_size_at",
  ],
  quotes: [
    ...KEY,
    "delayed",
    ...PRICE_FIELDS.map(({ column }) => column),
    // Whether `extended_quotes` has a row, or alone has one, and that row.
    "extended",
    ...EXTENDED_FIELDS.map(({ column }) => column),
  ],
  dividends: [...KEY, "ex_date", "amount", "yield"],
} as const satisfies Record<string, readonly string[]>;

export type PieceTable = keyof typeof PIECE_COLUMNS;

/** A row by its columns: text as PostgreSQL reads it, times as ISO 8601 in UTC. */
export type PieceRow = Readonly<Record<string, string | null>>;

/** Where a piece of an export stands in place of a call. Plain JSON. */
export type ExportCall = {
  form: "export";
  table: PieceTable;
  /** What the body's rows hold, in their order. */
  columns: readonly string[];
  rows: number;
};

/** Whether a record's request is one. */
export function isExportCall(request: unknown): request is ExportCall {
  return (request as { form?: unknown } | null | undefined)?.form === "export";
}

/** Whether it is a piece of a file, in which several rows may stand for one instrument and time. */
export function isFileCall(request: unknown): boolean {
  return isPlainCall(request) || isExportCall(request);
}

/** The body of a piece: a line for each row, a JSON array of texts and nulls. */
export function bodyOfRows(table: PieceTable, rows: readonly PieceRow[]): Buffer {
  const columns = PIECE_COLUMNS[table];
  return Buffer.from(
    rows.map((row) => `${JSON.stringify(columns.map((name) => row[name] ?? null))}\n`).join(""),
  );
}
