/**
 * The response document of the Market Quotes Service in our own words. The service's spellings
 * (`askprice`, `strkpx`, `sectyp` ...) appear only in `fields.ts`, `leaves.ts` and
 * `writeDocument.ts`.
 *
 * Every price, size and ratio is decimal text, never a float: what the service sent is what is kept, as far as an archive
 * holds it (`HELD_DIGITS` in `decimal.ts`).
 * `null` means that the element was missing, empty, `null` or `na` (field notes, "Answers").
 */
import { QuotekeeperError } from "../ground/errors.ts";
import { type InstrumentKey, type OptionType, plainStrike } from "../market/instrument.ts";
import {
  type DividendField,
  EXTENDED_FIELDS,
  type ExtendedField,
  type NUMBER_FIELDS,
  PRICE_FIELDS,
  type PriceField,
  valuesByName,
} from "./fields.ts";

/** Decimal text such as `346.66`, `-4.0` or `1.2E-7`; null when the element is absent. */
type DecimalText = string | null;

/** `dividenddata`: the last or next dividend of an equity. A yield of `4.9E-324` means "no dividend" (field notes). */
export type DividendData = Record<DividendField, string | null>;

/** `extendedquote`, the fields of equities and of options together. */
export type ExtendedQuote = Record<ExtendedField, DecimalText> & {
  /** Equities and `undlyquote` only; null when the whole element is missing. */
  dividend: DividendData | null;
};

export type Quote = Record<PriceField, DecimalText> & { extended: ExtendedQuote };

type InstrumentElement = {
  description: string | null;
  exchange: string | null;
  /** `CS` (common stock), `OPT` (option) ...: the set is open. */
  securityType: string | null;
  /** For an option this is the symbol of the underlying. */
  symbol: string;
  /** Options only: the root of the OCC symbol, absent where it is the underlying's own. The service writes it in place of the symbol. */
  root?: string | undefined;
  /** Options only: the calendar date of `matdt`, `YYYY-MM-DD`. */
  expiration: string | null;
  /** Options only: `putcall` 1 is a call, 0 a put (field notes). */
  optionType: OptionType | null;
  /** Options only: `strkpx`, decimal text. */
  strike: DecimalText;
};

export type UnderlyingElement = {
  description: string | null;
  exchange: string | null;
  symbol: string;
};

export type InstrumentQuote = {
  instrument: InstrumentElement;
  quote: Quote;
  /** `greeks/delta`; null for an equity, whose `greeks` is empty. */
  greeksDelta: DecimalText;
  underlying: UnderlyingElement | null;
  underlyingQuote: Quote | null;
  /** Absent: the answer does not say it, and the call or the address does. */
  delayed?: boolean;
  /** True when the service does not know the instrument; nothing else of such an item is to be read. */
  unknownSymbol: boolean;
};

export type QuoteDocument = {
  /** `response/@id`, opaque. */
  id: string | null;
  instruments: readonly InstrumentQuote[];
};

/** A field whose text cannot be read: it is null, and the rest of its instrument is read. */
export type OddField = {
  /** Its path below `instrumentquote`. */
  element: string;
  text: string;
  problem: string;
};

/**
 * One `instrumentquote` of an answer: read, with the fields of it that could not be, or set aside with the reason.
 * `fragment` is its own text. `isOption` is null where it does not say what it is.
 */
export type ReadItem =
  | { ok: true; item: InstrumentQuote; oddFields: readonly OddField[]; fragment: string }
  | { ok: false; symbol: string | null; isOption: boolean | null; problem: string; fragment: string };

export type ReadDocument = {
  id: string | null;
  /**
   * `response/error` when it says anything but `Success`, in whatever case, or the `description` of a response whose
   * `type` is `Error` (field notes, "Answers"); then there are usually no items.
   */
  error: string | null;
  hasQuotes: boolean;
  items: ReadItem[];
  /** `YYYY-MM-DD`, of an answer that lists expirations; absent: of any other. */
  expirations?: readonly string[];
  /** Open interest that comes without a quote. */
  interests?: readonly InstrumentQuote[];
  /** Where the next page of the same is: `page` of its call. Absent: this is the last one. */
  nextPage?: string;
};

/** Longest piece of an answer that is kept beside a dead letter, in characters; the whole is in the journal. */
export const MAX_FRAGMENT = 16_384;

/** Assumed: no answer holds more instruments than this; the largest list reported is 325 (field notes, "Requests"). */
export const MAX_ITEMS = 4_000;

/** DOCUMENT_REFUSED for the document as a whole. */
export function refused(detail: string, cause?: unknown): QuotekeeperError {
  return new QuotekeeperError("DOCUMENT_REFUSED", `the answer is not a whole quotes document: ${detail}`, {
    cause,
  });
}

/**
 * A document without an id and an error, as answers of JSON are.
 *
 * @param expirations null stands for one that is no date. Such a list is of no use: chains would be asked for by it all day
 * @throws QuotekeeperError DOCUMENT_REFUSED
 */
export function plainDocument(items: ReadItem[], expirations?: readonly (string | null)[]): ReadDocument {
  if (items.length > MAX_ITEMS) throw refused(`it holds more than ${MAX_ITEMS} instruments`);
  const document = { id: null, error: null, hasQuotes: true, items };
  const dates = expirations?.filter((date) => date !== null);
  if (dates === undefined) return document;
  if (dates.length !== expirations?.length) throw refused("one of its expirations is no date");
  return { ...document, expirations: dates };
}

const NO_EXTENDED: ExtendedQuote = { ...valuesByName(EXTENDED_FIELDS, () => null), dividend: null };

/** A quote in which every element is absent, as an unknown instrument has it. */
export const NO_QUOTE: Quote = { ...valuesByName(PRICE_FIELDS, () => null), extended: NO_EXTENDED };

/**
 * A quote of all fields.
 *
 * @param valueOf called once for each field, in the order of the lists; then `dividend` is
 */
export function makeQuote(
  valueOf: (field: (typeof NUMBER_FIELDS)[number]) => DecimalText,
  dividend: () => DividendData | null,
): Quote {
  // The copy of an object is several times as fast as one made name by name: a backfill makes some 100,000 a second.
  const quote: Quote = { ...NO_QUOTE, extended: { ...NO_EXTENDED } };
  for (const field of PRICE_FIELDS) quote[field.name] = valueOf(field);
  for (const field of EXTENDED_FIELDS) quote.extended[field.name] = valueOf(field);
  quote.extended.dividend = dividend();
  return quote;
}

/** The item of an instrument that the service does not know. */
export function unknownItem(instrument: InstrumentElement): InstrumentQuote {
  return {
    instrument,
    quote: NO_QUOTE,
    greeksDelta: null,
    underlying: null,
    underlyingQuote: null,
    unknownSymbol: true,
  };
}

/**
 * The answer for an unknown instrument.
 *
 * Assumed: it names what was asked for (symbol; for an option also expiration, type and strike), so that the asker
 * can match it, its other elements are empty, and `underlying` and `undlyquote` are missing. What the live service
 * puts beside `unknownsymbol` true is not shown.
 */
export function unknownQuote(key: InstrumentKey): InstrumentQuote {
  const isOption = key.kind === "option";
  return unknownItem({
    description: null,
    exchange: null,
    securityType: isOption ? "OPT" : null,
    symbol: isOption ? key.underlying : key.symbol,
    root: isOption ? key.root : undefined,
    expiration: isOption ? key.expiration : null,
    optionType: isOption ? key.optionType : null,
    strike: isOption ? plainStrike(key.strike) : null,
  });
}
