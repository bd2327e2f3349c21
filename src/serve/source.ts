/** What the Market Quotes Service answers from. */
import { type InstrumentQuote, NO_QUOTE } from "../quotes/document.ts";
import { plainStrike, type InstrumentKey } from "../market/instrument.ts";

/** Assumed: delayed quotes are 15 minutes old, the usual delay of US exchanges; the specification names none. */
export const DELAY_MS = 15 * 60_000;

export type Asked = {
  /** The service's clock, UTC. A source that plays another time derives that time from this one. */
  now: Date;
  /** true: delayed quotes. false: real-time ones. null: the request does not say. */
  delayed: boolean | null;
};

export type QuoteSource = {
  /**
   * Sent with every answer in the header `SOURCE_HEADER`, so that nobody mistakes simulated quotes for real ones, or quotes
   * of an archive for today's. An archive that plays simulated rows says `simulated`.
   */
  readonly name: "simulated" | "archive";
  /**
   * The quote of an instrument at an instant; `unknownQuote(key)` when the source does not know the instrument. Symbols are
   * not case sensitive, and are answered as the source has them. The service calls it for all instruments of a request
   * at once, without waiting in between.
   */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote | Promise<InstrumentQuote>;
  /**
   * The quotes of all instruments of a request, in the order of `keys`; used in place of `quote` if present. The caller
   * must not change a quote: a source may return the same object twice.
   */
  quotes?: (
    keys: readonly InstrumentKey[],
    asked: Asked,
  ) => readonly InstrumentQuote[] | Promise<readonly InstrumentQuote[]>;
  /** The symbols of a watchlist; null: no watchlist has that id. */
  watchlist: (id: string) => readonly string[] | null | Promise<readonly string[] | null>;
};

/**
 * The answer for an unknown instrument.
 *
 * Assumed: it names what was asked for (symbol; for an option also expiration, type and strike), so that the asker
 * can match it, its other elements are empty, and `underlying` and `undlyquote` are missing. What the live service
 * puts beside `unknownsymbol` true is not shown.
 */
export function unknownQuote(key: InstrumentKey): InstrumentQuote {
  const isOption = key.kind === "option";
  return {
    instrument: {
      description: null,
      exchange: null,
      securityType: isOption ? "OPT" : null,
      symbol: isOption ? key.underlying : key.symbol,
      root: isOption ? key.root : undefined,
      expiration: isOption ? key.expiration : null,
      optionType: isOption ? key.optionType : null,
      strike: isOption ? plainStrike(key.strike) : null,
    },
    quote: NO_QUOTE,
    greeksDelta: null,
    underlying: null,
    underlyingQuote: null,
    unknownSymbol: true,
  };
}
