/**
 * From a journaled piece of a CSV file to the lines that COPY takes, without making objects of its rows. Numbers that are
 * written as practically every one is are gone over as bytes. What names, times and other numbers mean is asked of the
 * readers of `csvRows.ts`: of names and times once. A row that is not plain is read by them alone; a piece in which two
 * rows may stand for one instrument and time is left to `rowsOf` (docs/decisions/two-readers.md).
 */
import type { Instant } from "../clock.ts";
import type { ResponseRecord } from "../journal/record.ts";
import { HELD_DIGITS } from "../quotes-api/decimal.ts";
import { EXTENDED_FIELDS, type Field, PRICE_FIELDS } from "../quotes-api/fields.ts";
import type { Cell } from "./cell.ts";
import { createTimeReader, EARLIEST } from "./cellTime.ts";
import { CopyLines, HOLE_BYTES, type Lines } from "./copyLines.ts";
import { type CsvCall, type CsvColumn, NAME_FIELDS } from "./csvCall.ts";
import {
  createLetterWriter,
  createUnitReader,
  createValueReader,
  type NumberField,
  readDelayed,
  rowsOfBody,
} from "./csvRows.ts";
import { createRowReader, type RowReader } from "./rowReader.ts";
import type { Cut, InstrumentRow, PlainAnswer } from "./rowTypes.ts";
import { MAX_ROW_BYTES, type RawRow } from "./splitRows.ts";

/** An instrument, and from when to when the rows of a piece have it. */
type Span = { piece: number; first: Instant; last: Instant };

/** What names stand for, with a contract size if the row has one. */
type Known = { row: InstrumentRow; span: Span };

/** A time, and whether its text says more. */
type KnownTime = { at: Instant; cut: number };

/** A time of ISO 8601 as practically every one is written: whatever its seconds, they begin with the same minute. */
const WITH_SECONDS = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d):([0-5]\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?$/;

/** What lines begin with, up to their values. All times are equally long. */
type Starts = { quotes: Buffer; delayed: Buffer; extended: Buffer };

/** A number of a row: where it stands, and how it is read. */
type Value = {
  cell: number;
  /** Whether it is stored as it stands there, if it is written as usual. */
  isBare: boolean;
  isCount: boolean;
  isSigned: boolean;
  /** Whether a row that has nothing else has no value. */
  isSize: boolean;
  constant: string;
  read: (given: string) => Cell<string | null>;
};

/** How a map's rows are read. */
type Plan = {
  /** How many cells a row has at least, and how many there are to be found. */
  columns: number;
  cells: number;
  names: readonly number[];
  times: readonly number[];
  delayed: number;
  prices: readonly Value[];
  extended: readonly Value[];
};

/** How much is remembered, of names and of times; then it is forgotten. */
const MAX_KNOWN = 100_000;
const MAX_TIMES = 10_000;

/** What an instant ends with. */
const SECONDS = "00.000000Z";

const [TAB, SPACE, QUOTE, APOSTROPHE] = [0x09, 0x20, 0x22, 0x27];
const [MINUS, POINT, ZERO, CAPITAL_N, BACKSLASH, DELETE] = [0x2d, 0x2e, 0x30, 0x4e, 0x5c, 0x7f];

/** Reads pieces of files. Their map is nearly always that of the one before. */
export class PlainCsv {
  #text = "";
  #reader: PieceReader | null = null;

  /** @returns null when the piece is left to `rowsOf`; lines may have been added then */
  read(record: ResponseRecord, lines: Lines): PlainAnswer | null {
    const call = record.request as CsvCall;
    // What a bar's own volume comes to hangs on the rows before it.
    if (call.volumeOf === "bar") return null;
    const { header, rows } = rowsOfBody(record.body, call);
    const text = JSON.stringify([{ ...call, firstLine: 0, rows: 0 }, header?.toString("latin1")]);
    try {
      if (this.#reader === null || text !== this.#text) this.#reader = new PieceReader(call, header);
      this.#text = text;
      return this.#reader.read(record, rows, lines);
    } catch {
      // A map that this version or this machine cannot follow: `rowsOf` says so.
      this.#reader = null;
      return null;
    }
  }
}

/** Reads the pieces of one map. */
class PieceReader {
  readonly #call: CsvCall;
  readonly #plan: Plan;
  readonly #cells: PlainCells;
  readonly #unitOf: ReturnType<typeof createUnitReader>;
  readonly #timeOf: (text: string) => Cell<Instant>;
  /** Whether times are stored as they are written. */
  readonly #hasPlainTimes: boolean;
  readonly #absent: ReadonlySet<string>;
  /** Whether a text of this length is to be looked for among them. */
  readonly #absentLengths: Uint8Array;
  readonly #known = new Map<string, Known>();
  readonly #spans = new Map<string, Span>();
  readonly #times = new Map<string, KnownTime>();
  readonly #starts: Starts = startsOf(EARLIEST);
  #startsAt: Instant = EARLIEST;
  #piece = 0;
  #lines: Lines = { quotes: new CopyLines(), extended: new CopyLines() };
  #answer: PlainAnswer = { responseId: null, rows: [], deadLetters: [] };
  /** Of the row in hand: whether it has a value, and how many fractions were cut off. */
  #isEmpty = true;
  #fractions = 0;

  /** @throws RangeError as `createRowReader` */
  constructor(call: CsvCall, header: Buffer | null) {
    const reader = createRowReader(call, header);
    this.#call = call;
    this.#plan = planOf(call, reader);
    this.#cells = new PlainCells(this.#plan.cells, call.delimiter.charCodeAt(0));
    this.#unitOf = createUnitReader(call, reader);
    this.#timeOf = createTimeReader(call);
    this.#hasPlainTimes = call.time.format === "iso" && call.time.knownAt === undefined;
    this.#absent = new Set(call.absent);
    this.#absentLengths = new Uint8Array(HELD_DIGITS.whole + 1);
    for (const { length } of call.absent) this.#absentLengths[length] = 1;
  }

  read(record: ResponseRecord, rows: readonly RawRow[], lines: Lines): PlainAnswer | null {
    this.#piece += 1;
    this.#lines = lines;
    this.#forget();
    const cut = { times: 0, fractions: 0 };
    const answer: PlainAnswer = { responseId: null, rows: [], deadLetters: [], cut };
    this.#answer = answer;
    for (const row of rows) {
      const span = this.#addPlainly(row) ?? this.#addWhole(record, row);
      const at = answer.rows.at(-1)?.observedAt;
      if (span !== null && at !== undefined && !this.#isAlone(span, at)) return null;
    }
    return answer;
  }

  #forget(): void {
    if (this.#known.size >= MAX_KNOWN) {
      this.#known.clear();
      this.#spans.clear();
    }
    if (this.#times.size >= MAX_TIMES) this.#times.clear();
  }

  /** Whether no row before it can be of the same instrument and time: rows come in the order of time, or the other way. */
  #isAlone(span: Span, at: Instant): boolean {
    if (span.piece !== this.#piece) [span.piece, span.first, span.last] = [this.#piece, at, at];
    else if (at > span.last) span.last = at;
    else if (at < span.first) span.first = at;
    else return false;
    return true;
  }

  /** @returns null when the row is not plain; then nothing was added */
  #addPlainly({ bytes, broken }: RawRow): Span | null {
    if (broken || !this.#cells.find(bytes, this.#plan.columns)) return null;
    const known = this.#known.get(this.#names());
    const time = known && this.#time();
    const isDelayed = this.#isDelayed();
    if (!known || !time || isDelayed === null) return null;
    const { quotes, extended } = this.#lines;
    const ends = [quotes.end, extended.end] as const;
    [this.#isEmpty, this.#fractions] = [true, 0];
    const isWhole =
      this.#addLine(quotes, isDelayed ? this.#starts.delayed : this.#starts.quotes, this.#plan.prices) &&
      this.#addLine(extended, this.#starts.extended, this.#plan.extended);
    if (!isWhole || this.#isEmpty) {
      [quotes.end, extended.end] = ends;
      return null;
    }
    this.#addRow(known.row, time.at, {
      cut: { times: time.cut, fractions: this.#fractions },
      starts: ends,
    });
    return known.span;
  }

  /** Reads a row by itself, as `csvRows` does. @returns null when it is a dead letter */
  #addWhole(record: ResponseRecord, row: RawRow): Span | null {
    const read = this.#unitOf(row);
    const die = createLetterWriter(record, this.#answer.deadLetters);
    if (!read.ok) {
      die(row, read.problem, { reason: "malformed", instrument: read.name });
      return null;
    }
    const { unit, cut, key, odd } = read;
    for (const problem of odd) die(row, problem, { reason: "odd_field", instrument: unit.instrument.symbol });
    const { quotes, extended } = this.#lines;
    const ends = [quotes.end, extended.end] as const;
    const { delayed, quote, observedAt, instrument } = unit;
    this.#addTexts(quotes, [observedAt, delayed ? "t" : "f", ...PRICE_FIELDS.map(({ name }) => quote[name])]);
    this.#addTexts(extended, [observedAt, ...EXTENDED_FIELDS.map(({ name }) => quote.extended[name])]);
    this.#addRow(instrument, observedAt, { cut, starts: ends });
    const span = this.#spans.get(key) ?? { piece: 0, first: "", last: "" };
    this.#spans.set(key, span);
    // Where cells are quoted in an unusual way they are not in hand.
    const names = !row.broken && this.#cells.find(row.bytes, this.#plan.columns) ? this.#names() : null;
    if (names !== null && !this.#known.has(names)) this.#known.set(names, { row: instrument, span });
    return span;
  }

  #addTexts(lines: CopyLines, texts: readonly (string | null)[]): void {
    lines.begin();
    for (const text of texts) lines.addValue(text);
    lines.endLine();
  }

  #addRow(
    instrument: InstrumentRow,
    observedAt: Instant,
    row: { cut: Cut; starts: readonly [number, number] },
  ): void {
    const { rows, cut } = this.#answer;
    const [quote, extended] = row.starts;
    rows.push({ instrument, observedAt, dividend: null, quote, extended });
    if (cut === undefined) return;
    cut.times += row.cut.times;
    cut.fractions += row.cut.fractions;
  }

  /** The texts that name the instrument. */
  #names(): string {
    let text = "";
    for (const cell of this.#plan.names) text += `${this.#cells.text(cell)}\0`;
    return text;
  }

  /** Takes the row's time into the starts of lines; null where it cannot be read. */
  #time(): KnownTime | null {
    const { columns, constant } = this.#call.time;
    const [only = 0] = this.#plan.times;
    const text =
      columns.length === 1
        ? this.#cells.text(only)
        : this.#plan.times
            .map((cell) => this.#cells.text(cell))
            .join(" ")
            .trim();
    if (text === "") return null;
    const time = this.#timeIn(constant === undefined ? text : `${text} ${constant}`);
    if (time === null || time.at === this.#startsAt) return time;
    this.#startsAt = time.at;
    for (const start of Object.values(this.#starts)) start.write(time.at, HOLE_BYTES, "latin1");
    return time;
  }

  #timeIn(text: string): KnownTime | null {
    const [, minute, second, fraction = "", zone = ""] = this.#hasPlainTimes
      ? (WITH_SECONDS.exec(text) ?? [])
      : [];
    if (minute === undefined) return this.#knownTime(text);
    const known = this.#knownTime(`${minute}:00${zone}`);
    return (
      known && { at: `${known.at.slice(0, -SECONDS.length)}${second}.${fraction.padEnd(6, "0")}Z`, cut: 0 }
    );
  }

  #knownTime(text: string): KnownTime | null {
    const known = this.#times.get(text);
    if (known !== undefined) return known;
    const read = this.#timeOf(text);
    if (!read.ok) return null;
    const time = { at: read.value, cut: read.cut ?? 0 };
    this.#times.set(text, time);
    return time;
  }

  /** Null where that cannot be told. */
  #isDelayed(): boolean | null {
    const read = readDelayed(this.#call, this.#said(this.#plan.delayed, this.#call.constants.delayed ?? ""));
    return read.ok ? read.value : null;
  }

  /** What a cell says, or the constant in its place; null where that is nothing. */
  #said(cell: number, constant: string): string | null {
    const text = this.#cells.text(cell) || constant;
    return text === "" || this.#absent.has(text) ? null : text;
  }

  /** @returns whether all values could be read */
  #addLine(lines: CopyLines, start: Uint8Array, values: readonly Value[]): boolean {
    const least = start.length + this.#cells.bytes.length + 3 * values.length;
    lines.reserve(least);
    lines.bytes.set(start, lines.end);
    lines.end += start.length;
    for (let place = 0; place < values.length; place++) {
      const value = values[place] as Value;
      if (!this.#addBare(lines, value)) {
        const text = this.#odd(value);
        if (text === null) return false;
        lines.add(text);
        lines.reserve(least);
      }
      lines.bytes[lines.end++] = TAB;
    }
    lines.endLine();
    return true;
  }

  /** Adds a number as it stands there. @returns false when it is not written as usual; then nothing was added */
  #addBare(lines: CopyLines, value: Value): boolean {
    const { bytes: from, starts, ends } = this.#cells;
    const to = lines.bytes;
    const start = starts[value.cell] ?? 0;
    const end = ends[value.cell] ?? 0;
    let into = lines.end;
    if (start === end) {
      if (value.constant !== "") return false;
      to[into++] = BACKSLASH;
      to[into++] = CAPITAL_N;
      lines.end = into;
      return true;
    }
    const length = end - start;
    if (!value.isBare || length > HELD_DIGITS.whole || this.#absentLengths[length] === 1) return false;
    const first = value.isSigned && from[start] === MINUS ? start + 1 : start;
    if (value.isCount && length > 1 && from[start] === ZERO) return false;
    if (first > start) to[into++] = MINUS;
    let points = value.isCount ? 1 : 0;
    for (let at = first; at < end; at++) {
      const code = from[at] ?? 0;
      if ((code - ZERO) >>> 0 > 9 && (code !== POINT || at === first || points++ > 0)) return false;
      to[into++] = code;
    }
    if (first === end) return false;
    lines.end = into;
    if (!value.isSize) this.#isEmpty = false;
    return true;
  }

  /** A number that is written in another way, for COPY; null when it is none. */
  #odd(value: Value): string | null {
    const given = this.#said(value.cell, value.constant);
    if (given === null) return "\\N";
    const read = value.read(given);
    if (!read.ok) return null;
    this.#fractions += read.cut ?? 0;
    if (read.value !== null && !value.isSize) this.#isEmpty = false;
    return read.value ?? "\\N";
  }
}

function startsOf(at: Instant): Starts {
  const startOf = (rest: string): Buffer => {
    const line = new CopyLines();
    line.begin();
    line.add(`${at}\t${rest}`);
    return line.bytes.subarray(0, line.end);
  };
  return { quotes: startOf("f\t"), delayed: startOf("t\t"), extended: startOf("") };
}

/** @param reader of the map's rows */
function planOf(call: CsvCall, { columns, placeOf }: RowReader): Plan {
  const given = [...call.time.columns, ...Object.values(call.columns)];
  const cells = Math.max(columns, ...given.map((column) => placeOf(column) + 1));
  // What has no column, or one that no row has, is in a cell of its own, which is always empty.
  const cellOf = (column: CsvColumn | undefined): number => {
    const place = column === undefined ? -1 : placeOf(column);
    return place === -1 ? cells : place;
  };
  const valueOf = ({ name, type, ...field }: Field<NumberField>): Value => ({
    cell: cellOf(call.columns[name]),
    isBare: call.decimal === "." && call.scale?.[name] === undefined && !isCut(call, name),
    isCount: type === "integer",
    isSigned: field.signed === true,
    isSize: name === "contractSize",
    constant: call.constants[name] ?? "",
    read: createValueReader(call, name),
  });
  return {
    ...{ columns, cells, times: call.time.columns.map(cellOf), delayed: cellOf(call.columns.delayed) },
    names: [...NAME_FIELDS, "contractSize" as const]
      .map((field) => cellOf(call.columns[field]))
      .filter((cell) => cell < cells),
    prices: PRICE_FIELDS.map(valueOf),
    extended: EXTENDED_FIELDS.map(valueOf),
  };
}

function isCut({ wholePart = [] }: CsvCall, field: NumberField): boolean {
  return wholePart.some((count) => count === field);
}

/** Where the cells of a row are. */
class PlainCells {
  /** The row. */
  bytes: Buffer = Buffer.alloc(0);
  /** By cell: where its text begins and ends, without spaces around it. Behind the last one, a cell that is empty. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly #count: number;
  readonly #delimiter: number;
  /** By byte: whether it stands for itself outside of quotation marks. */
  readonly #isText = new Uint8Array(256).fill(1, SPACE, DELETE);

  constructor(count: number, delimiter: number) {
    this.starts = new Int32Array(count + 1);
    this.ends = new Int32Array(count + 1);
    this.#count = count;
    this.#delimiter = delimiter;
    this.#isText[QUOTE] = this.#isText[delimiter] = 0;
  }

  /** The text of a cell. */
  text(cell: number): string {
    return this.bytes.toString("latin1", this.starts[cell], this.ends[cell]);
  }

  /** @returns false when the row has fewer than `least`, or is not of ASCII, each cell bare or within quotation marks */
  find(bytes: Buffer, least: number): boolean {
    const { length } = bytes;
    if (length > MAX_ROW_BYTES) return false;
    this.bytes = bytes;
    let count = 0;
    for (let at = 0; ; at++) {
      const isQuoted = bytes[at] === QUOTE;
      const start = isQuoted ? at + 1 : at;
      at = isQuoted ? this.#quotedEnd(start) : this.#bareEnd(start);
      if (at === -1 || !this.#keep(count++, start, at)) return false;
      if (isQuoted) at += 1;
      if (at === length) break;
      if (bytes[at] !== this.#delimiter) return false;
    }
    for (let missing = count; missing < this.#count; missing++) this.starts[missing] = this.ends[missing] = 0;
    return count >= least;
  }

  #bareEnd(start: number): number {
    let at = start;
    while (this.#isText[this.bytes[at] ?? 0] === 1) at += 1;
    return at;
  }

  /** Where the mark stands that ends it; -1 when there is none, or something before it that is not plain. */
  #quotedEnd(start: number): number {
    const end = this.bytes.indexOf(QUOTE, start);
    for (let at = start; at < end; at++) {
      const code = this.bytes[at] ?? 0;
      if (code < SPACE || code >= DELETE) return -1;
    }
    return end;
  }

  /** @returns false for what may stand for a formula's text */
  #keep(cell: number, from: number, to: number): boolean {
    if (cell >= this.#count) return true;
    let [start, end] = [from, to];
    while (start < end && this.bytes[start] === SPACE) start += 1;
    while (start < end && this.bytes[end - 1] === SPACE) end -= 1;
    this.starts[cell] = start;
    this.ends[cell] = end;
    return start === end || this.bytes[start] !== APOSTROPHE;
  }
}
