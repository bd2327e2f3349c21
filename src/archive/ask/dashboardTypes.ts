/**
 * What the dashboard shows of the archive. Prices, sizes and volumes are decimal text, null when the service sent none;
 * times are ISO 8601 in UTC.
 */

import type { Interval } from "./widths.ts";

export type { Interval } from "./widths.ts";

export type SourceKind = "account" | "simulated" | "import";

/** A quote as people read it, also where it is printed. */
export type QuoteLine = {
  /** `AAPL` or `AAPL:2026-12-18:CALL:150`. */
  instrument: string;
  description: string | null;
  source: SourceKind;
  delayed: boolean;
  /** Receive time, with microseconds. */
  observedAt: string;
  bid: string | null;
  ask: string | null;
  last: string | null;
  change: string | null;
  pctChange: string | null;
  bidSize: string | null;
  askSize: string | null;
  volume: string | null;
  delta: string | null;
};

/** The newest quote of one series: an instrument, a source, real-time or delayed. */
export type QuoteRow = QuoteLine & {
  instrumentId: number;
  symbol: string;
  expiration: string | null;
  optionType: "CALL" | "PUT" | null;
  strike: string | null;
  sourceId: number;
  sourceName: string;
  /** ask - bid; null unless both are above 0. */
  spread: string | null;
  /** Of an option: the service's own greeks in its units, theta of a day and vega per 0.01 of volatility. */
  gamma: string | null;
  theta: string | null;
  vega: string | null;
} & SaidOfQuote;

/** What living services say of a quote beyond the specification. */
export type SaidOfQuote = {
  /** When bid and ask were made, as the service says it. */
  quotedAt: string | null;
  tradedAt: string | null;
  /** Since when the quote stands still while the session runs (`standsStill.ts`). */
  stillSince: string | null;
  openInterest: string | null;
  /** Of an option: the service's own volatility from the middle of bid and ask, per year, a fraction. */
  impliedVolatility: string | null;
};

/** Some instruments with their newest quotes, securities first, and how many instruments there are in all. */
export type Glance = {
  quotes: Pick<
    QuoteRow,
    "instrument" | "source" | "sourceName" | "sourceId" | "delayed" | "observedAt" | "last" | "bid" | "ask"
  >[];
  instruments: number;
};

export type FoundInstrument = { instrument: string; description: string | null };

export type FoundInstruments = { instruments: FoundInstrument[]; total: number };

/** One bar. `bid` and `ask` are the last ones of the bar that were above 0. Of a week `date` is the first one with quotes. */
export type Bar = {
  date: string;
  /** Null in bars of weeks. */
  session: "pre" | "regular" | "post" | "closed" | "early" | null;
  at: string;
  open: string | null;
  high: string | null;
  low: string | null;
  close: string | null;
  bid: string | null;
  ask: string | null;
  meanSpread: string | null;
  quoteCount: string;
  volume: string | null;
};

export type SessionView = { date: string; kind: "regular" | "early"; openAt: string; closeAt: string };

export type DividendView = { exDate: string; amount: string | null; yield: string | null };

export type BarsView = {
  instrument: string;
  source: SourceKind;
  delayed: boolean;
  /** What is sent: wider than what was asked for where that would be more bars than can be drawn. */
  interval: Interval;
  asked: Interval;
  bars: Bar[];
  /** The exchange's; of the simulated market its dates, beside bars of days alone. */
  sessions: SessionView[];
  dividends: DividendView[];
  /** Whether older sessions exist than those that were sent. */
  more: boolean;
};

/** Misses of an instrument within one bar, for one reason. Times are those of the first and the last slot. */
export type MissedBars = {
  /** Ascending. */
  misses: MissRow[];
  more: boolean;
};

export type ChainKey = {
  symbol: string;
  expiration: string;
  source: SourceKind;
  sourceId: number;
  sourceName: string;
  delayed: boolean;
  contracts: number;
  lastAt: string;
};

/**
 * One contract of a chain at an instant. Volatilities and greeks are estimates, hence numbers, as `surface_at` gives them: per year,
 * vega per 1 of volatility, theta per year; null where bid and ask do not tell one.
 */
export type Contract = {
  instrument: string;
  strike: string;
  optionType: "CALL" | "PUT";
  observedAt: string;
  bid: string | null;
  ask: string | null;
  mid: string | null;
  last: string | null;
  volume: string | null;
  /** The underlying's price when the contract was quoted, and its ratio to the strike. */
  spot: string | null;
  moneyness: number | null;
  ivBid: number | null;
  ivMid: number | null;
  ivAsk: number | null;
  delta: number | null;
  gamma: number | null;
  vega: number | null;
  theta: number | null;
  serviceDelta: string | null;
  serviceIvBid: string | null;
  serviceIvMid: string | null;
  serviceIvAsk: string | null;
  /** The service's own greeks in its units: theta of a day, vega per 0.01 of volatility. */
  serviceGamma: string | null;
  serviceTheta: string | null;
  serviceVega: string | null;
  /** Ours less the service's, in the service's units. */
  ivDifference: number | null;
  deltaDifference: number | null;
  gammaDifference: number | null;
  thetaDifference: number | null;
  vegaDifference: number | null;
  /** When the service reckoned its volatilities and greeks. */
  greeksAt: string | null;
} & Omit<SaidOfQuote, "impliedVolatility">;

/** What nobody quotes and the volatilities rest on: per year, continuous. */
export type OptionRates = { rate: number; dividendYield: number };

export type ChainView = OptionRates & {
  underlyingLast: string | null;
  underlyingObservedAt: string | null;
  contracts: Contract[];
  /** Ascending, one for each exchange date. */
  spans: { date: string; from: string; to: string }[];
};

/** One expiration at the money: the mean of call and put at the strike nearest to the underlying that has a volatility. */
export type TermPoint = {
  expiration: string;
  strike: string;
  /** Until the contracts end, from when they were quoted. */
  years: number;
  ivBid: number | null;
  ivMid: number;
  ivAsk: number | null;
  /** What call and put cost together, by their middle prices; null where they do not tell a move. */
  straddle: string | null;
  /** The implied move: the straddle as a part of the underlying's price. */
  move: number | null;
};

/** An instrument's day: null where nothing was due, how often it was due where all is stored, else that and how often it was missed. */
export type PackedCell = null | number | [expected: number, missed: number];

export type CoverageRow = { instrument: string; source: SourceKind; cells: PackedCell[] };

/** What was due to one account, in one market. expected = stored + missed. */
export type AccountCoverage = {
  account: string;
  source: SourceKind;
  expected: number;
  stored: number;
  missed: number;
  reasons: Record<string, number>;
};

export type CoverageView = {
  /** Exchange dates, ascending: sessions, and other days on which something was due. */
  dates: { date: string; session: boolean }[];
  /** The worst first: packed, because thousands of instruments are tens of thousands of cells. */
  rows: CoverageRow[];
  sourceIds: Partial<Record<SourceKind, number>>;
  /** What of it was due to each account, where several had shares. */
  accounts: AccountCoverage[];
};

export type MissRow = {
  job: string;
  reason: string;
  count: number;
  firstAt: string;
  lastAt: string;
};
