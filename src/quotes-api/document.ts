/**
 * The response document of the Market Quotes Service in our own words. The service's spellings
 * (`askprice`, `strkpx`, `sectyp` ...) appear only in `fields.ts`, `leaves.ts` and
 * `writeDocument.ts`.
 *
 * Every price, size and ratio is decimal text, never a float: what the service sent is what is kept, as far as an archive
 * holds it (`HELD_DIGITS` in `decimal.ts`).
 * `null` means that the element was missing, empty, `null` or `na` (field notes, "Answers").
 */
import type { OptionType } from "../market/instrument.ts";
import type { DividendField, ExtendedField, PriceField } from "./fields.ts";

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

/** `underlying`, options only. */
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
  /** True when the service does not know the instrument; nothing else of such an item is to be read. */
  unknownSymbol: boolean;
};

export type QuoteDocument = {
  /** `response/@id`, opaque. */
  id: string | null;
  instruments: readonly InstrumentQuote[];
};
