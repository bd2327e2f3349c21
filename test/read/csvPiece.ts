/** Pieces of CSV files as the journal has them, and what becomes of them. */
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { CsvCall } from "../../src/read/csvCall.ts";
import type { AnswerRows } from "../../src/read/rowTypes.ts";
import { answerRecord, at } from "../support/journal.ts";

/** What a map says that names the columns of a symbol, a time in UTC and a last price alone. */
export const MAP: CsvCall = {
  ...{ form: "csv", file: "quotes.csv", firstLine: 2, rows: 1, delayed: false, header: true },
  ...{ delimiter: ",", encoding: "utf-8", decimal: ".", absent: [], constants: {}, expirationFormat: "iso" },
  columns: { symbol: "Symbol", last: "Last" },
  time: { columns: ["Time"], format: "iso", timezone: "UTC", ambiguous: "earlier" },
};

/** The time of a row, as it is written and as it is stored. */
export const TIME = "2026-11-18T14:30:00";
export const STORED_TIME = "2026-11-18T14:30:00.000000Z";

/** The rows of a piece that is read by `MAP`, changed. */
export function rowsOfPiece(csv: string | Buffer, change: Partial<CsvCall> = {}): AnswerRows {
  const record = { ...answerRecord(at(0), ""), request: { ...MAP, ...change }, body: Buffer.from(csv) };
  return rowsOf(record, { segment: "s", offset: 0 });
}

/** What dead letters say. */
export function problemsOf({ deadLetters }: AnswerRows): string[] {
  return deadLetters.map(({ detail }) => detail);
}

/** The one row that some values make, each under a column with the name of its field: its unit, or what is wrong. */
export function readRow(values: CsvCall["constants"], change: Partial<CsvCall> = {}) {
  const fields = Object.keys(values);
  const quoted = Object.values(values).map((value) => `"${value.replaceAll('"', '""')}"`);
  const rows = rowsOfPiece(`${["Time", ...fields].join()}\n${[TIME, ...quoted].join()}\n`, {
    columns: Object.fromEntries(fields.map((field) => [field, field])),
    ...change,
  });
  return {
    unit: rows.units[0],
    cut: rows.cut,
    problem: problemsOf(rows)[0]?.replace("quotes.csv line 2: ", ""),
  };
}
