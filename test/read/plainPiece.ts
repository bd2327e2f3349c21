/** Pieces of plain tables as the journal has them, and what becomes of them. */
import { rowsOf } from "../../src/read/answerToRows.ts";
import type { PlainCall } from "../../src/read/plainCall.ts";
import type { AnswerRows } from "../../src/read/rowTypes.ts";
import { answerRecord, at } from "../support/journal.ts";

const CALL: PlainCall = { form: "plain", file: "quotes.csv", firstLine: 2, rows: 1 };

/** The time of a row, as it is written and as it is stored. */
export const TIME = "2026-11-18T14:30:00Z";
export const STORED_TIME = "2026-11-18T14:30:00.000000Z";

/** The rows of a piece. @param change of its call */
export function rowsOfPiece(csv: string | Buffer, change: Partial<PlainCall> = {}): AnswerRows {
  const record = { ...answerRecord(at(0), ""), request: { ...CALL, ...change }, body: Buffer.from(csv) };
  return rowsOf(record, { segment: "s", offset: 0 });
}

/** What dead letters say. */
export function problemsOf({ deadLetters }: AnswerRows): string[] {
  return deadLetters.map(({ detail }) => detail);
}

/** The one row that some values make, each under its column: its unit, or what is wrong. */
export function readRow(values: Readonly<Record<string, string>>) {
  const quoted = Object.values(values).map((value) => `"${value.replaceAll('"', '""')}"`);
  const rows = rowsOfPiece(
    `${["observed_at", ...Object.keys(values)].join()}\n${[TIME, ...quoted].join()}\n`,
  );
  return {
    unit: rows.units[0],
    cut: rows.cut,
    problem: problemsOf(rows)[0]?.replace("quotes.csv line 2: ", ""),
  };
}
