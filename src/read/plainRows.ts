/** Reads a journaled piece of a plain table into rows. Pure. */
import type { Instant } from "../ground/clock.ts";
import type { ResponseRecord } from "../journal/record.ts";
import { differences, someDifferences } from "../quotes/differences.ts";
import { makeQuote, type Quote } from "../quotes/document.ts";
import type { NUMBER_FIELDS } from "../quotes/fields.ts";
import { isDateText } from "../market/calendar/dates.ts";
import { readNumber } from "../quotes/units.ts";
import { type Cell, shown } from "./cell.ts";
import { readInstant } from "./cellTime.ts";
import type { PlainCall } from "./plainCall.ts";
import { createInstrumentReader } from "./plainInstrument.ts";
import { createCellReader, type PlainColumn, splitHeader, type TextOf } from "./plainTable.ts";
import type { AnswerRows, DeadLetter, QuoteUnit } from "./rowTypes.ts";
import { type RawRow, RowSplitter } from "./splitRows.ts";

type PieceRows = Required<Pick<AnswerRows, "units" | "deadLetters" | "cut">>;

type RowResult = {
  ok: true;
  unit: QuoteUnit;
  key: string;
  /** How many of its times say more than microseconds. */
  cut: number;
  /** Which values no column holds: they are null. */
  odd: readonly string[];
};

/** A row that could not be read. `text`: the line, where it is another one's. */
type Unread = { ok: false; name: string | null; problem: string; text?: string | null };

/** The units and dead letters of a piece. A row that is wrong costs itself alone. Never throws. */
export function plainRows(record: ResponseRecord): PieceRows {
  const call = record.request as PlainCall;
  const { header, rows } = rowsOfBody(record.body, call.firstLine ?? 1);
  const readRow = createRowReader(splitHeader(header), call);
  const read = rows.map((row) => ({ row, ...readRow(row) }));
  const torn = contradictions(read.map(({ found }) => found));
  const pieces: PieceRows = { units: [], deadLetters: [], cut: 0 };
  for (const { row, place, found } of read) {
    const die = (why: string, letter: Pick<DeadLetter, "reason" | "instrument">, text?: string | null) =>
      void pieces.deadLetters.push({
        observedAt: record.observedAt,
        ordinal: pieces.deadLetters.length,
        detail: `${place}: ${why}`,
        fragment: text === undefined ? row.bytes.toString("utf8") : text,
        ...letter,
      });
    if (!found.ok) {
      die(found.problem, { reason: "malformed", instrument: found.name }, found.text);
      continue;
    }
    const { symbol } = found.unit.instrument;
    const why = torn.get(placeOf(found));
    if (why !== undefined) {
      die(why, { reason: "answered_twice", instrument: symbol });
      continue;
    }
    pieces.units.push(found.unit);
    for (const problem of found.odd) die(problem, { reason: "odd_field", instrument: symbol });
    pieces.cut += found.cut;
  }
  return pieces;
}

/** The header and the rows of a piece, at their lines of the file. */
function rowsOfBody(body: Uint8Array, firstLine: number): { header: Buffer; rows: RawRow[] } {
  const splitter = new RowSplitter();
  const [header, ...rows] = [...splitter.push(Buffer.from(body)), ...splitter.finish()];
  // The header stands before the first row of every piece.
  const moved = firstLine - (rows[0]?.line ?? firstLine);
  const placed = rows.map((row) => ({ ...row, line: row.line + moved }));
  return { header: header?.bytes ?? Buffer.alloc(0), rows: placed };
}

/**
 * Of the instruments and times for which rows have different values: in what. None of such rows is stored, because nothing
 * tells which is right. A row that says the same again is a repetition, for the database to pass over.
 */
function contradictions(read: readonly (RowResult | Unread)[]): Map<string, string> {
  const kept = new Map<string, RowResult>();
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

function placeOf({ unit, key }: RowResult): string {
  return `${unit.observedAt} ${key}`;
}

type FoundRow = { place: string; found: RowResult | Unread };

/** Reads the rows below a header: each with its place in the file that people have. */
export function createRowReader(
  columns: readonly string[],
  { file, firstLine }: Pick<PlainCall, "file" | "firstLine">,
): (row: RawRow) => FoundRow {
  const cellsOf = createCellReader(columns);
  const instrumentOf = createInstrumentReader(columns);
  const named = (text: TextOf, line: number): string => {
    if (firstLine !== null) return `${file} line ${line}`;
    const [own, at] = [text("line"), text("row")];
    const where = [
      ...(at === null ? [] : [`row ${at}`]),
      ...(own === null ? [] : [`line ${own}`]),
      ...(at === null && own === null ? [`row ${line - 1} of its map`] : []),
    ];
    return `${text("file") ?? file} ${where.join(", ")}`;
  };
  return (row) => {
    const cells = cellsOf(row.bytes);
    if (!cells.ok) return { place: `${file} line ${row.line}`, found: { ...cells, name: null } };
    const text = cells.value;
    const place = named(text, row.line);
    const failed = (problem: string, more: Partial<Unread> = {}): FoundRow => {
      const name = text("instrument") ?? text("symbol");
      return { place, found: { ok: false, name, problem, ...more } };
    };
    const refused = text("refused");
    if (refused !== null) return failed(refused, { text: text("text") });
    const instrument = instrumentOf(text);
    if (!instrument.ok) return failed(instrument.problem);
    const time = instantOf(text, "observed_at");
    if (!time.ok) return failed(time.problem);
    const delayed = delayedOf(text);
    if (!delayed.ok) return failed(delayed.problem);
    const quote = readQuote(text);
    if (!quote.ok) return failed(quote.problem);
    const { row: known, key } = instrument.value;
    const { contractSize } = quote.quote.extended;
    const unit: QuoteUnit = {
      observedAt: time.value,
      delayed: delayed.value,
      greeksDelta: null,
      instrument: contractSize === null ? known : { ...known, contractSize },
      quote: quote.quote,
      fragment: place,
    };
    return { place, found: { ok: true, unit, key, cut: (time.cut ?? 0) + quote.cut, odd: quote.odd } };
  };
}

function instantOf(text: TextOf, column: PlainColumn): Cell<Instant> {
  const given = text(column);
  if (given === null) return { ok: false, problem: `${column} is empty, and each row needs its time` };
  const read = readInstant(given);
  return read.ok ? read : { ok: false, problem: `${column} is ${shown(given)}: ${read.problem}` };
}

/** Whether a row's quote is a delayed one; a table without the column has none. */
function delayedOf(text: TextOf): Cell<boolean> {
  const given = text("delayed");
  if (given === null || given === "false") return { ok: true, value: false };
  if (given === "true") return { ok: true, value: true };
  return { ok: false, problem: `delayed is ${shown(given)}: expected true or false` };
}

type QuoteResult =
  { ok: true; quote: Quote; cut: number; odd: readonly string[] } | { ok: false; problem: string };

/**
 * Reads the values of the columns that a table has. A cell that is no number, or none of its unit, costs the row: it may be another
 * column's. A number that its column cannot hold, such as a price below zero, stands for no value, and is told.
 */
function readQuote(text: TextOf): QuoteResult {
  const found = { odd: [] as string[], cut: 0, isEmpty: true, problem: null as string | null };
  const valueOf = ({ column, name, unit, signed }: (typeof NUMBER_FIELDS)[number]): string | null => {
    const given = text(column);
    if (given === null || found.problem !== null) return null;
    if (unit === "date") {
      if (isDateText(given)) return given;
      found.problem = `${column} is ${shown(given)}: no date, YYYY-MM-DD`;
      return null;
    }
    if (unit === "instant") {
      const at = readInstant(given);
      if (!at.ok) found.problem = `${column} is ${shown(given)}: ${at.problem}`;
      else found.cut += at.cut ?? 0;
      return at.ok ? at.value : null;
    }
    const read = readNumber(given, signed === true ? { unit, signed } : { unit });
    if (!read.ok) {
      const problem = `${column} is ${shown(given)}: ${read.problem}`;
      if (read.isNumber === true) found.odd.push(problem);
      else found.problem = problem;
      return null;
    }
    if (read.value !== null && name !== "contractSize") found.isEmpty = false;
    return read.value;
  };
  const quote = makeQuote(valueOf, () => null);
  if (found.problem !== null) return { ok: false, problem: found.problem };
  if (found.isEmpty) return { ok: false, problem: found.odd.join("; ") || "it has no value" };
  return { ok: true, quote, cut: found.cut, odd: found.odd };
}
