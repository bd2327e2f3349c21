/** What the Market Quotes Service answers from. */
import type { InstrumentQuote } from "../quotes-api/document.ts";
import { NO_QUOTE } from "../quotes-api/readInstrument.ts";
import { plainStrike, type InstrumentKey } from "../market/instrument.ts";

/** Assumed: delayed quotes are 15 minutes old, the usual delay of US exchanges; the specification names none. */
export const DELAY_MS = 15 * 60_000;

/** When a request came, and which quotes it wants. */
export type Asked = {
  /** The service's clock, UTC. A source that plays another time has a clock of its own that follows this one. */
  now: Date;
  /** true: delayed quotes. false: real-time ones. null: the request does not say. */
  delayed: boolean | null;
};

/** A source of quotes: the archive, or the simulated market. */
export type QuoteSource = {
  /**
   * Sent with every answer in the header `SOURCE_HEADER`, so that simulated quotes are never taken for real ones, and
   * an archive's never for those of today. An archive that plays simulated rows says `simulated`.
   */
  readonly name: "simulated" | "archive";
  /**
   * The quote of an instrument as it was at an instant; `unknownQuote(key)` when the source does not know it. `aapl` is AAPL:
   * symbols are not case sensitive, and are answered as the source has them.
   * The service calls it for all instruments of a request at once, without waiting in between.
   */
  quote: (key: InstrumentKey, at: Date) => InstrumentQuote | Promise<InstrumentQuote>;
  /**
   * The quotes of all instruments of a request, in the order of `keys`; used in place of `quote` where it is there.
   * What is given is not to be changed by anybody: a source may give the same quote twice.
   */
  quotes?: (
    keys: readonly InstrumentKey[],
    asked: Asked,
  ) => readonly InstrumentQuote[] | Promise<readonly InstrumentQuote[]>;
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
