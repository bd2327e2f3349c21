/**
 * What the dashboard shows of the archive. Prices, sizes and volumes are decimal text, null when the service sent none;
 * times are ISO 8601 in UTC.
 */

/** Where rows come from. */
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
};

/** An instrument that a search finds. */
export type FoundInstrument = { instrument: string; description: string | null };

/** Answers of one minute by outcome. */
export type MinuteCalls = { at: string; outcome: string; calls: number };

/** Widths of bars. */
export type Interval = "1m" | "5m" | "1h" | "1d";

/** One bar. `bid` and `ask` are the last ones of the bar that were above 0. */
export type Bar = {
  date: string;
  session: "pre" | "regular" | "post" | "closed" | "early";
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

/** A session of the exchange's calendar. */
export type SessionView = { date: string; kind: "regular" | "early"; openAt: string; closeAt: string };

/** A dividend as the service last told it. */
export type DividendView = { exDate: string; amount: string | null; yield: string | null };

/** Bars of one series, with what is drawn beside them. */
export type BarsView = {
  interval: Interval;
  bars: Bar[];
  /** The exchange's; of the simulated market its dates, beside bars of days alone. */
  sessions: SessionView[];
  dividends: DividendView[];
  /** Whether older sessions exist than those that were sent. */
  more: boolean;
};

/** One expiration of an underlying's options, as stored from one source. */
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

/** One contract of a chain at an instant. */
export type Contract = {
  instrument: string;
  strike: string;
  optionType: "CALL" | "PUT";
  observedAt: string;
  bid: string | null;
  ask: string | null;
  mid: string | null;
  last: string | null;
  delta: string | null;
  volume: string | null;
};

/** A chain at an instant, and the spans in which it was observed. */
export type ChainView = {
  underlyingLast: string | null;
  underlyingObservedAt: string | null;
  contracts: Contract[];
  /** Ascending, one for each exchange date. */
  spans: { date: string; from: string; to: string }[];
};

/** One instrument on one exchange date. expected = stored + missed. */
export type CoverageCell = {
  date: string;
  source: SourceKind;
  instrument: string;
  expected: number;
  stored: number;
  missed: number;
  reasons: Record<string, number>;
};

/** Coverage of the newest sessions. */
export type CoverageView = {
  /** Exchange dates, ascending: sessions, and other days on which something was due. */
  dates: { date: string; session: boolean }[];
  cells: CoverageCell[];
  /** What of it was due to each account, where several had shares. */
  accounts: (Omit<CoverageCell, "date" | "instrument"> & { account: string })[];
};

/** Why slots of one instrument are missing on one date. */
export type MissRow = {
  job: string;
  reason: string;
  count: number;
  firstAt: string;
  lastAt: string;
};
