/** What `PlainReader` makes of an answer beside the truth: the units of `rowsOf`, written by the columns of the tables. */
import { EXTENDED_QUOTES, QUOTES, type QuoteTable } from "../../src/archive/schema/quoteColumns.ts";
import type { ResponseRecord } from "../../src/journal/record.ts";
import { dividendOf, rowsOf } from "../../src/read/answerToRows.ts";
import { CopyLines, copyText } from "../../src/read/copyLines.ts";
import type { PlainReader } from "../../src/read/plainRows.ts";
import type { QuoteUnit } from "../../src/read/rowTypes.ts";
import { expectSame } from "../support/expectSame.ts";

/** The columns that the hole is for, as they are in it. */
const HOLE = "0000000000\t00000";

/** A line as it is made of a unit whose numbers nobody knows. */
function lineOf({ columns }: QuoteTable, unit: QuoteUnit): string {
  const placed = { unit, instrumentId: 0, sourceId: 0 };
  const rest = columns.filter(({ name }) => name !== "instrument_id" && name !== "source_id");
  return `${[HOLE, ...rest.map(({ text }) => copyText(text(placed)))].join("\t")}\n`;
}

/** The line that begins there, with its line feed. */
function lineAt({ bytes, end }: CopyLines, start: number): string {
  return bytes.toString("utf8", start, bytes.subarray(0, end).indexOf("\n", start) + 1);
}

/**
 * Reads an answer both ways: where it is read plainly, every row, line and dividend is that of `rowsOf`, and nothing
 * else was said; where it is not, nothing was added.
 *
 * @returns whether it was read plainly
 */
export function expectTheTruth(reader: PlainReader, record: ResponseRecord): boolean {
  const lines = { quotes: new CopyLines(), extended: new CopyLines() };
  for (const one of Object.values(lines)) one.add("before\n");

  const answer = reader.read(record, lines.quotes, lines.extended);

  if (answer === null) {
    for (const { bytes, end } of Object.values(lines)) expectSame(bytes.toString("utf8", 0, end), "before\n");
    return false;
  }
  const truth = rowsOf(record, { segment: "", offset: 0 });
  const { responseId, deadLetters, cut } = answer;
  expectSame(
    { id: responseId, deadLetters, cut },
    {
      id: truth.answer.outcome === "quotes" ? truth.answer.document.id : "no quotes",
      ...{ deadLetters: truth.deadLetters, cut: truth.cut },
    },
  );
  expectSame(
    truth.matched.filter((match) => match.fate !== "stored" || match.oddFields.length > 0),
    [],
  );
  expectSame(
    answer.rows.map(({ instrument, observedAt, dividend, quote, extended }) => ({
      ...{ instrument, observedAt, dividend },
      quote: lineAt(lines.quotes, quote),
      extended: lineAt(lines.extended, extended),
    })),
    truth.units.map((unit) => ({
      ...{ instrument: unit.instrument, observedAt: unit.observedAt, dividend: dividendOf(unit.quote) },
      quote: lineOf(QUOTES, unit),
      extended: lineOf(EXTENDED_QUOTES, unit),
    })),
  );
  const lengths = Object.values(lines).map(
    ({ bytes, end }) => bytes.toString("utf8", 0, end).split("\n").length - 2,
  );
  expectSame(lengths, [truth.units.length, truth.units.length]);
  return true;
}
