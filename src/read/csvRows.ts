/** Reads a journaled piece of a CSV file into rows. Pure: the piece brings its map. */
import type { ResponseRecord } from "../journal/record.ts";
import type { Quote } from "../quotes-api/document.ts";
import type { AnswerRows, Cut, DeadLetter, QuoteUnit } from "./rowTypes.ts";
import { type Cell, shown, scaledBy } from "./cell.ts";
import {
  type CsvCall,
  type CsvReading,
  CUT_FIELDS,
  type CsvField,
  DECIMAL_FIELDS,
  INTEGER_FIELDS,
} from "./csvCall.ts";
import { createInstrumentReader } from "./csvInstrument.ts";
import { DaySums } from "./dayVolumes.ts";
import { createRowReader, type RowReader, type TextOf } from "./rowReader.ts";
import { type RawRow, RowSplitter } from "./splitRows.ts";
import {
  canonicalDecimal,
  HELD_DIGITS,
  readDecimal,
  readInteger,
  readWritten,
} from "../quotes-api/decimal.ts";
import { differences, someDifferences } from "../quotes-api/differences.ts";
import { NUMBER_FIELDS, PRICE_FIELDS } from "../quotes-api/fields.ts";
import { NO_QUOTE } from "../quotes-api/readInstrument.ts";

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
function contradictions(read: readonly UnitRead[]): Map<string, string> {
  const kept = new Map<string, Extract<UnitRead, { ok: true }>>();
  const torn = new Map<string, string>();
  for (const found of read) {
    if (!found.ok) continue;
    const place = placeOf(found);
    const first = kept.get(place) ?? found;
    kept.set(place, first);
    const unreadable = [first.odd.length > 0, found.odd.length > 0] as const;
    const differing = first === found ? [] : differences(first.unit.quote, found.unit.quote, unreadable);
    if (differing.length > 0)
      torn.set(
        place,
        `rows with different values at ${found.unit.observedAt}: ${someDifferences(differing)}`,
      );
  }
  return torn;
}

function placeOf({ unit, key }: Extract<UnitRead, { ok: true }>): string {
  return `${unit.observedAt} ${key}`;
}

/** Makes dead letters of a piece's rows. */
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

/** The unit of a row, or what is wrong with it. */
type UnitRead =
  | {
      ok: true;
      unit: QuoteUnit;
      /** Names the instrument. */
      key: string;
      cut: Cut;
      /** What is wrong with values that could not be read: they are null. */
      odd: readonly string[];
    }
  | { ok: false; name: string | null; problem: string };

export function createUnitReader(call: CsvReading, reader: RowReader): (row: RawRow) => UnitRead {
  const { file } = call;
  const instrumentOf = createInstrumentReader(call, createValueReader(call, "strike"));
  const quoteOf = createQuoteReader(call);
  return ({ bytes, line }) => {
    const cells = reader.fieldsOf(bytes);
    if (!cells.ok) return { ...cells, name: null };
    const text = reader.textOf(cells.value);
    const failed = ({ problem }: { problem: string }): UnitRead => {
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
      ...{ observedAt: time.value, delayed: delayed.value, greeksDelta: null },
      instrument: contractSize === null ? row : { ...row, contractSize },
      quote: quote.value,
      fragment: `${file} line ${line}`,
    };
    const cut = { times: time.cut ?? 0, fractions: quote.cut };
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

// The values of a row of CSV. Pure.

/** Fields of `quotes` itself; the others are of `extended_quotes`. */
const PRICES = new Set<CsvField>(PRICE_FIELDS.map(({ name }) => name));

/** What may be below zero; any other field is a slip then, or stands for "no value", which the map can say. */
const SIGNED = new Set<CsvField>(NUMBER_FIELDS.filter(({ signed }) => signed).map(({ name }) => name));

type QuoteCall = Pick<CsvCall, "columns" | "constants" | "decimal" | "scale" | "wholePart">;

/** A number as it is stored: null where there is none; `cut`: a fraction was left out. */
type NumberRead =
  { ok: true; value: string | null; cut?: boolean } | { ok: false; problem: string; isNumber?: true };

type NumberField = (typeof DECIMAL_FIELDS)[number] | (typeof INTEGER_FIELDS)[number];

/** The values of a row, or why it has none. `cut` counts the counts that had a fraction, `odd` says what could not be read. */
type QuoteRead =
  { ok: true; value: Quote; cut: number; odd: readonly string[] } | { ok: false; problem: string };

/**
 * Reads the fields that the map gives a column or a constant. A count that cannot be read costs itself, and so does a number
 * that no column holds. What is no number where a price stands costs the row: the map may be wrong, or the cell another
 * column's.
 */
function createQuoteReader(call: QuoteCall): (text: TextOf) => QuoteRead {
  const { columns, constants } = call;
  const isGiven = (field: CsvField): boolean =>
    columns[field] !== undefined || constants[field] !== undefined;
  const fields = [...DECIMAL_FIELDS, ...INTEGER_FIELDS]
    .filter(isGiven)
    .map((field) => ({ field, read: createValueReader(call, field) }));
  return (text) => {
    const prices: Record<string, string | null> = {};
    const extended: Record<string, string | null> = {};
    const odd: string[] = [];
    let isEmpty = true;
    let cut = 0;
    for (const { field, read } of fields) {
      const given = text(field);
      if (given === null) continue;
      const value = read(given);
      if (!value.ok) {
        if (value.costsRow) return value;
        odd.push(value.problem);
        continue;
      }
      (PRICES.has(field) ? prices : extended)[field] = value.value;
      if (value.value !== null && field !== "contractSize") isEmpty = false;
      cut += value.cut ?? 0;
    }
    if (isEmpty) return { ok: false, problem: odd.join("; ") || "it has no value" };
    const quote = { ...NO_QUOTE, ...prices, extended: { ...NO_QUOTE.extended, ...extended } };
    return { ok: true, value: quote as Quote, cut, odd };
  };
}

/** What a row says of a field, or what is wrong with that, and whether it costs the whole row. */
type ValueRead =
  { ok: true; value: string | null; cut?: number } | { ok: false; problem: string; costsRow: boolean };

/** Reads what rows say of a field: null where that stands for no value. Strikes are read as values are. */
function createValueReader(call: QuoteCall, field: NumberField | "strike"): (given: string) => ValueRead {
  const read = numberReader(call, field);
  const isCount = isCountField(field);
  return (given) => {
    const value = read(given);
    const problem = value.ok ? problemOf(field, value.value) : value.problem;
    if (value.ok && problem === null)
      return { ok: true, value: value.value, ...(value.cut === true && { cut: 1 }) };
    const costsRow = !isCount && (value.ok || value.isNumber !== true);
    return { ok: false, problem: `${call.columns[field] ?? field} is ${shown(given)}: ${problem}`, costsRow };
  };
}

function isCountField(field: CsvField): boolean {
  return INTEGER_FIELDS.some((count) => count === field);
}

/** Reads the numbers of a field: with the map's decimal sign, times its factor, whole where a count has to be. */
function numberReader(
  { decimal, scale = {}, wholePart = [] }: QuoteCall,
  field: NumberField | "strike",
): (given: string) => NumberRead {
  const factor = scale[field];
  const isCut = CUT_FIELDS.some((count) => count === field && wholePart.includes(count));
  const finish = isCountField(field) ? readInteger : readDecimal;
  return (given) => {
    const text = decimal === "," ? withPoint(given) : given;
    if (text === null) return NO_COMMA;
    if (factor === undefined && !isCut) return finish(text);
    const read = readWritten(text);
    if (!read.ok || read.value === null) return read;
    const scaled = factor === undefined ? read.value : scaledBy(read.value, factor);
    const [whole = "", fraction] = canonicalDecimal(scaled).split(".");
    return isCut ? { ...finish(whole), ...(fraction !== undefined && { cut: true }) } : finish(scaled);
  };
}

const NO_COMMA = { ok: false as const, problem: "expected a number with a decimal comma" };

function problemOf(field: CsvField, value: string | null): string | null {
  if (value === null) return null;
  if (value.startsWith("-") && !SIGNED.has(field) && /[1-9]/u.test(value))
    return "it is below zero; list it under `absent` of the map if it stands for no value";
  return isCountField(field) && value.length > HELD_DIGITS.whole
    ? `it has more than ${HELD_DIGITS.whole} digits`
    : null;
}

/** `1.234,56` as `1234.56`; null where a point is no separator of thousands. */
function withPoint(text: string): string | null {
  const plain = /^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?%?$/u.test(text) ? text.replaceAll(".", "") : text;
  return plain.includes(".") ? null : plain.replace(",", ".");
}
