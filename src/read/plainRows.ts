/**
 * Makes COPY's lines of a journaled answer of ordinary items, without objects of its quotes. Every other answer is left to
 * `rowsOf`. So is the meaning of an instrument and of a dividend: this file only recognizes that one is written as before
 * (docs/decisions/two-readers.md).
 */
import { isAscii } from "node:buffer";
import { type InstrumentKey, security } from "../market/instrument.ts";
import { DEFAULT_SERVICE, type ResponseRecord } from "../journal/record.ts";
import { type DividendData, MAX_ITEMS, type ReadDocument } from "../quotes/document.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../quotes/fields.ts";
import { LEAF, type QuoteLeaves } from "../services/reference/leaves.ts";
import { keyOf } from "../quotes/keyText.ts";
import { strictlyOrNull } from "../services/reference/readDocument.ts";
import type { QuoteCall, SavedCall } from "../quotes/call.ts";
import { MAX_BODY_BYTES } from "../services/bodyText.ts";
import { dividendOf, rowsOf } from "./answerToRows.ts";
import { AskedNames, inOrder, type Name, same } from "./askedNames.ts";
import { CopyLines, type Lines } from "./copyLines.ts";
import { GROUP } from "./leafKinds.ts";
import { ITEM_START, MAX_PLAIN_PIECE, PlainItem } from "./plainItem.ts";
import type { InstrumentRow, PlainAnswer, PlainRow, QuoteUnit } from "./rowTypes.ts";

/** The instrument that names stand for, together with a contract size and the names of an underlying, if it has them. */
type Known = {
  row: InstrumentRow;
  name: Name;
  contractSize: string | null;
  /** The stretch of its names. */
  underlying: number;
};

type Progress = Lines & {
  record: ResponseRecord;
  delayed: boolean;
  /** What the lines begin with. */
  starts: { quotes: Uint8Array; extended: Uint8Array };
  /** How many instruments were asked for by name; null when only the service knows. */
  asked: number | null;
  rows: PlainRow[];
  places: number[];
  isInOrder: boolean;
  hasUnderlying: boolean;
};

/** The most instruments, dividends and names that are remembered; then all are forgotten. */
const MAX_KNOWN = 100_000;

/** A time that COPY's text needs no escape for. */
const PLAIN_INSTANT = /^[\dT:.Z-]{1,40}$/;

const [TAB, LINE_FEED, SPACE, SLASH, BACKSLASH, CAPITAL_N] = [0x09, 0x0a, 0x20, 0x2f, 0x5c, 0x4e];

/** The leaves of a quote in the order of columns. */
type Columns = { quotes: readonly number[]; extended: readonly number[] };

/** The call and the place of an item that is read alone. */
const ANYTHING: QuoteCall = { form: "watchlist", watchlist: "", delayed: false };
const NOWHERE = { segment: "", offset: 0 };
const ONLY_ITEM_START = Buffer.from("<response><quotes>");
const ONLY_ITEM_END = Buffer.from("</quotes></response>");

/** An item that is read without an error: one that is thrown takes as long as some quotes. */
const BARE_ITEM = "<instrumentquote><instrument><sym>A</sym></instrument></instrumentquote>";

/** The dividend of stretch 0, which stands for no stretch. */
const NO_DIVIDEND = null;

const COLUMNS = columnsOf(LEAF.quote);
const UNDERLYING_COLUMNS = columnsOf(LEAF.underlyingQuote);

function columnsOf({ values }: QuoteLeaves): Columns {
  return {
    quotes: PRICE_FIELDS.map(({ name }) => values[name]),
    extended: EXTENDED_FIELDS.map(({ name }) => values[name]),
  };
}

/** Remembers the answers before, which makes it faster and changes nothing else. */
export class PlainReader {
  #item = new PlainItem();
  readonly #start = new CopyLines();
  /** By the numbers of stretches: what they mean, as far as that is known. */
  #known: (Known | undefined)[] = [];
  #paid: (DividendData | null | undefined)[] = [NO_DIVIDEND];
  readonly #names = new AskedNames();
  /** The one object for all equal ones, by their text. */
  readonly #rows = new Map<string, InstrumentRow>();
  readonly #dividends = new Map<string, DividendData>();

  /**
   * Adds the lines of an answer.
   *
   * @returns null when anything is not as practically every answer has it; then nothing was added
   */
  read(record: ResponseRecord, quotes: CopyLines, extended: CopyLines): PlainAnswer | null {
    if ((record.service ?? DEFAULT_SERVICE) !== DEFAULT_SERVICE) return null;
    this.#forget();
    this.#names.open();
    const ends = [quotes.end, extended.end] as const;
    const answer = this.#read(record, { quotes, extended });
    if (answer === null) [quotes.end, extended.end] = ends;
    return answer;
  }

  #forget(): void {
    if (this.#item.learned + this.#names.size < MAX_KNOWN) return;
    this.#item = new PlainItem();
    this.#known = [];
    this.#paid = [NO_DIVIDEND];
    for (const kept of [this.#names, this.#rows, this.#dividends]) kept.clear();
  }

  #read(record: ResponseRecord, lines: Lines): PlainAnswer | null {
    const { body, status, headers, observedAt } = record;
    if (status !== 200 || (headers["content-encoding"] ?? "") !== "") return null;
    if (body.byteLength > MAX_BODY_BYTES || !isAscii(body) || !PLAIN_INSTANT.test(observedAt)) return null;
    const call = record.request as QuoteCall | SavedCall | null;
    const asked = call ? this.#names.ask(call) : undefined;
    if (!call || asked === undefined) return null;
    const progress: Progress = {
      ...lines,
      record,
      delayed: call.delayed,
      asked,
      rows: [],
      places: [],
      isInOrder: true,
      hasUnderlying: false,
      starts: this.#lineStarts(observedAt, call.delayed),
    };
    this.#item.open(body);
    const { bytes } = this.#item;
    const first = bytes.indexOf(ITEM_START);
    const end = first < 0 ? 0 : this.#readItems(first, progress);
    if (end === 0) return null;
    const { isInOrder, hasUnderlying } = progress;
    // The order asked for is not enough to tell which underlying comes first.
    if (!isInOrder && hasUnderlying) return null;
    const rows = isInOrder ? progress.rows : inOrder(progress.rows, progress.places);
    const frame = frameOf(bytes.toString("latin1", 0, first), bytes.toString("latin1", end));
    return rows && frame && { responseId: frame.id, rows, deadLetters: [] };
  }

  /** The hole, and what follows it in all lines of an answer. */
  #lineStarts(observedAt: string, delayed: boolean): Progress["starts"] {
    const line = this.#start;
    line.end = 0;
    line.begin();
    line.add(`${observedAt}\t`);
    const extended = line.bytes.subarray(0, line.end);
    line.add(`${delayed ? "t" : "f"}\t`);
    return { quotes: line.bytes.subarray(0, line.end), extended };
  }

  /** @returns where the last of the items ends; 0 when one of them is not plain */
  #readItems(first: number, progress: Progress): number {
    const { bytes } = this.#item;
    let items = 0;
    for (let start = first; ;) {
      const end = this.#item.read(start);
      items += 1;
      if (end === 0 || items > MAX_ITEMS || !this.#addItem({ start, end }, progress)) return 0;
      start = end;
      while (isSpace(bytes[start])) start += 1;
      if (start - end > MAX_PLAIN_PIECE) return 0;
      if (bytes[start + 1] === SLASH) return progress.asked === null || progress.asked === items ? end : 0;
    }
  }

  #addItem(place: { start: number; end: number }, progress: Progress): boolean {
    const known = this.#knownItem(place, progress.record);
    if (known === null) return false;
    const { name, row, underlying } = known;
    const { answer } = this.#names;
    if (name.mainIn === answer || name.underlyingIn === answer) return false;
    name.mainIn = answer;
    if (progress.asked !== null) {
      if (name.askedIn !== answer) return false;
      if (name.place < (progress.places.at(-1) ?? 0)) progress.isInOrder = false;
      progress.places.push(name.place);
    }
    const { stretches, hasUnderlyingQuote } = this.#item;
    this.#addRow(progress, { row, columns: COLUMNS, dividend: stretches[GROUP.dividend] ?? 0 });
    if (!hasUnderlyingQuote) return true;
    const other = this.#known[underlying];
    if (!other) return false;
    progress.hasUnderlying = true;
    if (other.name.mainIn === answer || other.name.underlyingIn === answer) return true;
    other.name.underlyingIn = answer;
    const dividend = stretches[GROUP.underlyingDividend] ?? 0;
    this.#addRow(progress, { row: other.row, columns: UNDERLYING_COLUMNS, dividend });
    return true;
  }

  #addRow(
    { record, delayed, rows, quotes, extended, starts }: Progress,
    of: { row: InstrumentRow; columns: Columns; dividend: number },
  ): void {
    const { row: instrument, columns, dividend } = of;
    rows.push({
      instrument,
      observedAt: record.observedAt,
      delayed,
      dividend: this.#paid[dividend] ?? null,
      quote: quotes.end,
      extended: extended.end,
    });
    this.#addLine(quotes, starts.quotes, columns.quotes);
    this.#addLine(extended, starts.extended, columns.extended);
  }

  #addLine(lines: CopyLines, start: Uint8Array, columns: readonly number[]): void {
    // An item is no longer, and what is not as it stands there is a number of 64 bits at most.
    lines.reserve(start.length + MAX_PLAIN_PIECE + 32 * columns.length);
    const { bytes } = lines;
    bytes.set(start, lines.end);
    let end = lines.end + start.length;
    for (let place = 0; place < columns.length; place++) {
      end = this.#addValue(bytes, end, columns[place] ?? 0);
      bytes[end++] = TAB;
    }
    bytes[end - 1] = LINE_FEED;
    lines.end = end;
  }

  #addValue(to: Buffer, at: number, leaf: number): number {
    const { bytes, starts, ends } = this.#item;
    const start = starts[leaf] ?? 0;
    const end = ends[leaf] ?? 0;
    let into = at;
    if (end <= start) {
      // The delta of `greeks` stands in where the element lacks its own.
      if (leaf === LEAF.quote.values.delta) return this.#addValue(to, at, LEAF.greeksDelta);
      to[into++] = BACKSLASH;
      to[into++] = CAPITAL_N;
    } else if (start < 0) into += to.write(this.#item.text(leaf) ?? "", into);
    else for (let from = start; from < end; from++) to[into++] = bytes[from] ?? 0;
    return into;
  }

  /** What the names of the item stand for; null when that cannot be told, or something of it is odd. */
  #knownItem(place: { start: number; end: number }, record: ResponseRecord): Known | null {
    const { stretches, hasUnderlyingQuote } = this.#item;
    const known = this.#known[stretches[GROUP.instrument] ?? 0];
    const underlying = stretches[GROUP.underlying] ?? 0;
    const isKnown =
      known?.underlying === underlying &&
      !(hasUnderlyingQuote && this.#known[underlying] === undefined) &&
      this.#paid[stretches[GROUP.dividend] ?? 0] !== undefined &&
      this.#paid[stretches[GROUP.underlyingDividend] ?? 0] !== undefined &&
      this.#item.says(LEAF.quote.values.contractSize, known.contractSize);
    return isKnown ? known : this.#learn(place, record);
  }

  /** Asks `rowsOf` for the meaning of an item that is the only one of its answer. */
  #learn({ start, end }: { start: number; end: number }, record: ResponseRecord): Known | null {
    const { bytes, stretches, hasUnderlyingQuote } = this.#item;
    const body = Buffer.concat([ONLY_ITEM_START, bytes.subarray(start, end), ONLY_ITEM_END]);
    const { matched, units, deadLetters } = rowsOf({ ...record, request: ANYTHING, body }, NOWHERE);
    const [match] = matched;
    const [unit, ofUnderlying] = units;
    const [instrument = 0, dividend = 0, underlying = 0, underlyingDividend = 0] = stretches;
    if (instrument === 0 || !unit || match?.fate !== "stored" || deadLetters.length > 0) return null;
    if (hasUnderlyingQuote !== (ofUnderlying !== undefined)) return null;
    // Such a symbol may look like the name of a contract.
    if (units.some((one) => one.instrument.symbol.includes(":"))) return null;
    this.#tellDividend(dividend, unit);
    if (ofUnderlying) {
      this.#tellDividend(underlyingDividend, ofUnderlying);
      const key = security(ofUnderlying.instrument.symbol);
      this.#known[underlying] = this.#meaning(ofUnderlying, key, 0);
    }
    return (this.#known[instrument] = this.#meaning(unit, keyOf(match.item), underlying));
  }

  #meaning({ instrument }: QuoteUnit, key: InstrumentKey, underlying: number): Known {
    const row = same(this.#rows, JSON.stringify(instrument), instrument);
    return { row, name: this.#names.of(key), contractSize: instrument.contractSize, underlying };
  }

  #tellDividend(stretch: number, { quote }: QuoteUnit): void {
    if (stretch === 0) return;
    const dividend = dividendOf(quote);
    this.#paid[stretch] = dividend && same(this.#dividends, JSON.stringify(dividend), dividend);
  }
}

/**
 * The answer without its items, which stand between these texts; null when it is refused, or holds an error or other items.
 * One item is put in their place: where the strict reader finds it, they are.
 */
function frameOf(before: string, after: string): ReadDocument | null {
  const text = `${before}${BARE_ITEM}${after}`;
  const document = text.length > MAX_PLAIN_PIECE ? null : strictlyOrNull(text);
  return document?.items.length === 1 && document.error === null ? document : null;
}

function isSpace(code: number | undefined): boolean {
  return code === SPACE || code === LINE_FEED || code === TAB;
}
