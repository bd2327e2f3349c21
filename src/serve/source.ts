/** What the Market Quotes Service answers from. */
import type { InstrumentQuote } from "../quotes-api/document.ts";
import { NO_QUOTE } from "../quotes-api/readInstrument.ts";
import { plainStrike, type InstrumentKey } from "../market/instrument.ts";

/** A source of quotes: the archive, or the simulated market. */
export type QuoteSource = {
  /** Sent with every answer in the header `SOURCE_HEADER`, so that simulated quotes are never taken for real ones. */
  readonly name: "simulated" | "archive";
  /**
   * The quote of an instrument as it was at an instant; `unknownQuote(key)` when the source does not know it.
   * The service calls it for all instruments of a request at once, without waiting in between.
   */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote | Promise<InstrumentQuote>;
  /** The symbols of a watchlist; null when there is none of that id. */
  watchlist: (id: string) => readonly string[] | null | Promise<readonly string[] | null>;
};

/**
 * The answer for an instrument that is not known.
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
