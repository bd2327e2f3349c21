/** What the Market Quotes Service answers from. */
import type { InstrumentKey } from "../market/instrument.ts";
import type { InstrumentQuote } from "../quotes/document.ts";

/** Assumed: delayed quotes are 15 minutes old, the usual delay of US exchanges; the specification names none. */
export const DELAY_MS = 15 * 60_000;

export type SourceQuestion = {
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
   * The quotes of all instruments of a request, in the order of `keys`; `unknownQuote(key)` of one that the source does not know.
   * Symbols are not case sensitive, and are answered as the source has them. The caller must not change a quote: a source may return
   * the same object twice.
   */
  quotes: (
    keys: readonly InstrumentKey[],
    asked: SourceQuestion,
  ) => readonly InstrumentQuote[] | Promise<readonly InstrumentQuote[]>;
  /** The symbols of a watchlist; null: no watchlist has that id. */
  watchlist: (id: string) => readonly string[] | null | Promise<readonly string[] | null>;
};
