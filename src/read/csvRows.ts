/** Reads a journaled piece of a CSV file into rows. Pure: the piece brings its map. */
import type { ResponseRecord } from "../journal/record.ts";
import type { AnswerRows, DeadLetter, QuoteUnit } from "./rowTypes.ts";
import { type Cell, shown } from "./cell.ts";
import { type CsvCall, type CsvReading } from "./csvCall.ts";
import { createInstrumentReader } from "./csvInstrument.ts";
import { DaySums, type Read, type Unread } from "./dayVolumes.ts";
import { createRowReader, type RowReader, type TextOf } from "./rowReader.ts";
import { type RawRow, RowSplitter } from "./splitRows.ts";
import { differences, someDifferences } from "../quotes/differences.ts";
import { createQuoteReader, createValueReader } from "./csvValues.ts";

type PieceRows = Pick<AnswerRows, "units" | "deadLetters" | "cut">;

/** The units and dead letters of a piece. A bad row costs itself alone. Never throws. */
export function csvRows(record: ResponseRecord): PieceRows {
  try {
    return readPiece(record);
  } catch (error) {
    // A map that this version or this machine cannot follow, such as a zone that it does not know.
    const { observedAt } = record;
    const detail = `the map of the import: ${(error as Error).message}`;
    const letter = { observedAt, ordinal: 0, instrument: null, reason: "malformed" as const, detail };
    return { units: [], deadLetters: [{ ...letter, fragment: null }] };
  }
}

function readPiece(record: ResponseRecord): PieceRows {
  const call = record.request as CsvCall;
  const { header, rows } = rowsOfBody(record.body, call);
  const readUnit = createUnitReader(call, createRowReader(call, header));
  const sums = call.volumeOf === "bar" ? new DaySums(call.dayVolumes) : null;
  const read = rows.flatMap((row) => {
    const unit = readUnit(row);
    const units = sums !== null && unit.ok ? sums.add(unit) : [unit];
    return units.map((one) => ({ row, unit: one }));
  });
  const torn = contradictions(read.map(({ unit }) => unit));
  const units: QuoteUnit[] = [];
  const deadLetters: DeadLetter[] = [];
  const cut = { times: 0, fractions: 0 };
  const die = createLetterWriter(record, deadLetters);
  for (const { row, unit: found } of read) {
    if (!found.ok) {
      die(row, found.problem, { reason: "malformed", instrument: found.name });
      continue;
    }
    const { unit, odd } = found;
    const why = torn.get(placeOf(found));
    if (why !== undefined) {
      die(row, why, { reason: "answered_twice", instrument: unit.instrument.symbol });
      continue;
    }
    units.push(unit);
    for (const problem of odd) die(row, problem, { reason: "odd_field", instrument: unit.instrument.symbol });
    cut.times += found.cut.times;
    cut.fractions += found.cut.fractions;
  }
  return { units, deadLetters, cut };
}

/**
 * Of the instruments and times for which rows have different values: in what. None of such rows is stored, because nothing
 * tells which is right. A row that says the same again is a repetition, for the database to pass over.
 */
function contradictions(read: readonly (Read | Unread)[]): Map<string, string> {
  const kept = new Map<string, Read>();
  const torn = new Map<string, string>();
  for (const found of read) {
    if (!found.ok) continue;
    const place = placeOf(found);
    const first = kept.get(place) ?? found;
    kept.set(place, first);
    const unreadable = [first.odd.length > 0, found.odd.length > 0] as const;
    const [a, b] = [first, found].map(({ unit: { delayed, quote } }) => ({ delayed, ...quote }));
    const differing = first === found ? [] : differences(a ?? {}, b ?? {}, unreadable);
    if (differing.length > 0)
      torn.set(
        place,
        `rows with different values at ${found.unit.observedAt}: ${someDifferences(differing)}`,
      );
  }
  return torn;
}

function placeOf({ unit, key }: Read): string {
  return `${unit.observedAt} ${key}`;
}

function createLetterWriter(
  { observedAt, request }: ResponseRecord,
  letters: DeadLetter[],
): (row: RawRow, why: string, letter: Pick<DeadLetter, "reason" | "instrument">) => void {
  const { file } = request as CsvCall;
  return ({ bytes, line }, why, letter) => {
    const detail = `${file} line ${line}: ${why}`;
    letters.push({
      observedAt,
      ordinal: letters.length,
      detail,
      fragment: bytes.toString("utf8"),
      ...letter,
    });
  };
}

/** The header and the rows of a piece, at their lines of the file. */
function rowsOfBody(
  body: Uint8Array,
  { header, delimiter, firstLine }: CsvCall,
): { header: Buffer | null; rows: RawRow[] } {
  const splitter = new RowSplitter(delimiter);
  const found = [...splitter.push(Buffer.from(body)), ...splitter.finish()];
  const rows = header ? found.slice(1) : found;
  // The header stands before the first row of every piece.
  const moved = firstLine - (rows[0]?.line ?? firstLine);
  const placed = rows.map((row) => ({ ...row, line: row.line + moved }));
  return { header: header ? (found[0]?.bytes ?? Buffer.alloc(0)) : null, rows: placed };
}

export function createUnitReader(call: CsvReading, reader: RowReader): (row: RawRow) => Read | Unread {
  const { file } = call;
  const instrumentOf = createInstrumentReader(call, createValueReader(call, "strike"));
  const quoteOf = createQuoteReader(call);
  return ({ bytes, line }) => {
    const cells = reader.fieldsOf(bytes);
    if (!cells.ok) return { ...cells, name: null };
    const text = reader.textOf(cells.value);
    const failed = ({ problem }: { problem: string }): Unread => {
      return { ok: false, name: text("symbol") ?? text("occ") ?? text("underlying"), problem };
    };
    const instrument = instrumentOf(text);
    if (!instrument.ok) return failed(instrument);
    const time = reader.timeOf(cells.value);
    if (!time.ok) return failed(time);
    const quote = quoteOf(text);
    if (!quote.ok) return failed(quote);
    // With a cell too many, one that cannot be read may be another column's, and so may its neighbours.
    if (quote.odd.length > 0 && cells.value.length > reader.columns)
      return failed({ problem: quote.odd.join("; ") });
    const delayed = delayedOf(call, text);
    if (!delayed.ok) return failed(delayed);
    const { row, key } = instrument.value;
    const { contractSize } = quote.value.extended;
    const unit = {
      observedAt: time.value,
      delayed: delayed.value,
      greeksDelta: null,
      instrument: contractSize === null ? row : { ...row, contractSize },
      quote: quote.value,
      fragment: `${file} line ${line}`,
    };
    const cut = { times: (time.cut ?? 0) + quote.cut.times, fractions: quote.cut.fractions };
    return { ok: true, unit, key, cut, odd: quote.odd };
  };
}

/** Whether a row's quote is delayed: the row says it, or the map. */
function delayedOf(call: CsvReading, text: TextOf): Cell<boolean> {
  const given = text("delayed");
  if (given === null) return { ok: true, value: call.delayed };
  if (/^(true|t|yes|y|1)$/iu.test(given)) return { ok: true, value: true };
  if (/^(false|f|no|n|0)$/iu.test(given)) return { ok: true, value: false };
  const column = call.columns.delayed ?? "delayed";
  return { ok: false, problem: `${column} is ${shown(given)}: expected true or false` };
}
