/**
 * A stretch of a journal, read and ready for one transaction: its quotes are COPY's bytes already, in which only the
 * numbers of instruments and sources are missing. It is made wherever the journal is read, in another thread or in this
 * one, and holds nothing of the answers but what the archive gets.
 */
import type { Instant } from "../../clock.ts";
import { DatesOf } from "../schema/lateDays.ts";
import { DEFAULT_ACCOUNT, type RecordSource, type ResponseRecord } from "../../journal/record.ts";
import type { DividendData } from "../../quotes/document.ts";
import { dividendOf, rowsOf } from "../../read/answerToRows.ts";
import { CopyLines } from "../../read/copyLines.ts";
import { isFileCall } from "../../read/exportCall.ts";
import type { PlainReader } from "../../read/plainRows.ts";
import type { AnswerRows, DeadLetter, InstrumentRow, PlainRow } from "../../read/rowTypes.ts";
import { seriesNumber } from "../schema/quoteColumns.ts";
import { countsOf, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { linesBySeries, type SeriesLines, touch, type Touched, writeLines } from "./storeQuotes.ts";
import { type DividendWord, sameText } from "./dividendChanges.ts";
import { responseRow, type ResponseRow, summaryOf } from "./insert.ts";
import { type Seen, identityText, seenAgain } from "./seen.ts";
import { sourceText } from "./sources.ts";
import { addCounts } from "./letterCounts.ts";
import type { JournaledNote } from "./loadNotes.ts";

/** Quotes of one instrument from one source; both are places in the stretch's lists. */
type Series = {
  instrument: number;
  source: number;
  /** How many quotes. Their lines follow each other, in the order in which they came. */
  rows: number;
  /** What they say of dividends: ascending, without those that say nothing or what the one before them says. */
  words: Pick<DividendWord, "observedAt" | "dividend">[];
  /** Bars that its rows change. */
  touched: Touched[];
  /** Times of its oldest and its newest quote. */
  firstAt: Instant;
  lastAt: Instant;
};

/**
 * Plain data: it may go from one thread to another. What has a source has its place in `sources`, an answer its account's
 * in `accounts`.
 */
export type Stretch = {
  segment: string;
  /** Where it begins and ends in the segment, bytes of the uncompressed stream. */
  from: number;
  to: number;
  /**
   * `loadBatch` knows what to do with it: nothing was gathered, as it holds rows with sources and numbers of their own, or
   * two rows of files may stand for one instrument and time.
   */
  isAlone: boolean;
  /** Whether there are pieces of files in it: two of their rows may stand for one instrument and time. */
  hasFiles: boolean;
  /** A time in each of its months, by `2026-11`. */
  months: ReadonlyMap<string, Instant>;
  /** Exchange dates of its rows and of the slots that its notes tell of. */
  dates: readonly string[];
  sources: readonly RecordSource[];
  accounts: readonly string[];
  instruments: readonly Seen[];
  responses: readonly ResponseRow[];
  letters: readonly (DeadLetter & { source: number })[];
  notes: readonly JournaledNote[];
  series: readonly Series[];
  /** False: a quote came behind a later one of its series, and its dividend may be wanted. */
  isInOrder: boolean;
  quotes: SeriesLines;
  extended: SeriesLines;
  /** What was read, and stored if all of it is new; without dividends and slots, which the archive counts. */
  report: LoadReport;
};

/** Answers and notes come in, one behind the other; `finish` gives the stretch. */
export class Gathering {
  readonly #reader: PlainReader | null;
  readonly #segment: string;
  readonly #from: number;
  readonly #months = new Map<string, Instant>();
  readonly #dates = new DatesOf();
  readonly #sources = new Places<RecordSource>(sourceText);
  readonly #accounts = new Places<string>((name) => name);
  readonly #instruments: Seen[] = [];
  readonly #placeOf = new Map<string, number>();
  readonly #placeOfRow = new Map<InstrumentRow, number>();
  readonly #responses: ResponseRow[] = [];
  readonly #letters: (DeadLetter & { source: number })[] = [];
  readonly #notes: JournaledNote[] = [];
  readonly #series: Series[] = [];
  readonly #seriesOf = new Map<number, number>();
  /** The series of each quote, in the order in which they came, and where its lines begin. */
  readonly #rows: Record<"series" | "quote" | "extended", number[]> = { series: [], quote: [], extended: [] };
  readonly #quotes = new CopyLines();
  readonly #extended = new CopyLines();
  /** Series of which a quote came behind a later one. */
  readonly #crossed = new Set<number>();
  #lastTime: Instant = "";
  #hasFiles = false;
  /** Whether two quotes of a series may bear one time. */
  #mayRepeat = false;
  #report: LoadReport = NOTHING_LOADED;
  #plainAnswers = 0;
  #plainUnits = 0;
  /** Where it ends so far. */
  to: number;

  /**
   * Begins at a place of a segment.
   *
   * @param reader of the answers that come as records; default: they are read the ordinary way
   */
  constructor({ segment, from }: Pick<Stretch, "segment" | "from">, reader: PlainReader | null = null) {
    this.#reader = reader;
    this.#segment = segment;
    this.#from = from;
    this.to = from;
  }

  /** Bytes of the segment so far. */
  get length(): number {
    return this.to - this.#from;
  }

  addNote(note: JournaledNote): void {
    this.#notes.push(note);
    this.#dates.addNote(note.note);
  }

  addAnswer(answer: AnswerRows): void {
    const { record, units, deadLetters } = answer;
    const source = this.#addResponse(record, responseRow(record, summaryOf(answer)));
    for (const letter of deadLetters) this.#letters.push({ ...letter, source });
    for (const unit of units) {
      const { quote, extended } = writeLines(unit, this.#quotes, this.#extended);
      const place = this.#placeOfIdentity(unit.instrument);
      const { instrument, observedAt, delayed } = unit;
      const dividend = dividendOf(unit.quote);
      // Named one by one: spreading costs more than the line that is written.
      this.#addRow(source, place, { instrument, observedAt, delayed, dividend, quote, extended });
    }
    const stored = { responses: 1, quotes: units.length };
    this.#report = addCounts(this.#report, { ...NOTHING_LOADED, ...countsOf([answer]), ...stored });
  }

  /** Adds a record as it is journaled. */
  add(record: ResponseRecord, position: AnswerRows["position"]): void {
    const plain = this.#reader?.read(record, this.#quotes, this.#extended) ?? null;
    if (plain === null) return this.addAnswer(rowsOf(record, position));
    const { responseId, rows, deadLetters, cut } = plain;
    const source = this.#addResponse(
      record,
      responseRow(record, { outcome: "quotes", responseId, position }),
    );
    for (const row of rows) {
      const place = this.#placeOfRow.get(row.instrument) ?? this.#placeOfIdentity(row.instrument);
      // Plain answers bring the same object for one instrument again and again.
      this.#placeOfRow.set(row.instrument, place);
      this.#addRow(source, place, row);
    }
    for (const letter of deadLetters) this.#letters.push({ ...letter, source });
    if (cut !== undefined) {
      const beside = countsOf([{ units: [], matched: [], deadLetters, cut }]);
      this.#report = addCounts(this.#report, { ...NOTHING_LOADED, ...beside, answers: 0 });
    }
    this.#plainAnswers += 1;
    this.#plainUnits += rows.length;
  }

  #addResponse(record: ResponseRecord, row: Omit<ResponseRow, "sourceId" | "accountId">): number {
    const source = this.#sources.place(record.source);
    const accountId = this.#accounts.place(record.account ?? DEFAULT_ACCOUNT);
    this.#responses.push({ ...row, sourceId: source, accountId });
    this.#addTime(record.observedAt);
    this.#hasFiles ||= isFileCall(record.request);
    return source;
  }

  #addTime(at: Instant): void {
    // All rows of an answer bear its time.
    if (at === this.#lastTime) return;
    this.#lastTime = at;
    this.#dates.add(at);
    const month = monthText(at);
    if (!this.#months.has(month)) this.#months.set(month, at);
  }

  /** @param place that of its instrument */
  #addRow(source: number, place: number, row: PlainRow): void {
    const at = row.observedAt;
    this.#instruments[place] = seenAgain(this.#instruments[place], row.instrument, at);
    const key = seriesNumber(place, source);
    let number = this.#seriesOf.get(key);
    if (number === undefined) {
      const begun = { instrument: place, source, rows: 0, words: [], touched: [], firstAt: at, lastAt: "" };
      number = this.#series.push(begun) - 1;
      this.#seriesOf.set(key, number);
    }
    const series = this.#series[number] as Series;
    series.rows += 1;
    this.#rows.series.push(number);
    this.#rows.quote.push(row.quote);
    this.#rows.extended.push(row.extended);
    if (at > series.lastAt) series.lastAt = at;
    else {
      this.#crossed.add(number);
      if (at >= series.firstAt) this.#mayRepeat = true;
      else series.firstAt = at;
    }
    touch(series.touched, row);
    addWord(series, at, row.dividend);
    this.#addTime(at);
  }

  #placeOfIdentity(row: InstrumentRow): number {
    const identity = identityText(row);
    const known = this.#placeOf.get(identity);
    if (known !== undefined) return known;
    this.#placeOf.set(identity, this.#instruments.length);
    return this.#instruments.length;
  }

  /** @param isAlone see `Stretch` */
  finish(isAlone = false): Stretch {
    const [answers, units] = [this.#plainAnswers, this.#plainUnits];
    const plain = { ...NOTHING_LOADED, answers, units, responses: answers, quotes: units };
    return {
      segment: this.#segment,
      from: this.#from,
      to: this.to,
      isAlone: isAlone || (this.#hasFiles && this.#mayRepeat),
      hasFiles: this.#hasFiles,
      isInOrder: this.#isInOrder(),
      months: this.#months,
      dates: this.#dates.all,
      sources: this.#sources.all,
      accounts: this.#accounts.all,
      instruments: this.#instruments,
      responses: this.#responses,
      letters: this.#letters,
      notes: this.#notes,
      series: this.#series,
      quotes: this.#bySeries(this.#quotes, this.#rows.quote),
      extended: this.#bySeries(this.#extended, this.#rows.extended),
      report: addCounts(this.#report, plain),
    };
  }

  #bySeries(lines: CopyLines, starts: readonly number[]): SeriesLines {
    return linesBySeries(lines, { starts, seriesOf: this.#rows.series, series: this.#series });
  }

  /** Files may begin with their newest row: without dividends that is no matter. */
  #isInOrder(): boolean {
    const crossed = [...this.#crossed];
    return this.#hasFiles
      ? crossed.every((number) => this.#series[number]?.words.length === 0)
      : crossed.length === 0;
  }
}

/** The month of a time, `2026-11`. */
export function monthText(at: Instant): string {
  return at.slice(0, "2026-11".length);
}

function addWord({ words }: Series, observedAt: Instant, dividend: DividendData | null): void {
  if (dividend === null) return;
  const before = words.at(-1)?.dividend ?? null;
  if (before === null || !sameText(before, dividend)) words.push({ observedAt, dividend });
}

/** Things that come again and again, each with its place in the order in which they came first. */
class Places<T> {
  readonly all: T[] = [];
  readonly #textOf: (one: T) => string;
  readonly #places = new Map<string, number>();

  constructor(textOf: (one: T) => string) {
    this.#textOf = textOf;
  }

  place(one: T): number {
    const text = this.#textOf(one);
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.all.length);
    return this.all.push(one) - 1;
  }
}
