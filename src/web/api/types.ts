/**
 * What the dashboard's JSON API answers: shared by the server and the page, types alone. Prices, sizes and volumes are
 * decimal text, null when the service sent none; times are ISO 8601 in UTC.
 */

/** Where rows come from. */
export type SourceKind = "account" | "simulated" | "import";

/** What the page is of. */
export type Meta = {
  version: string;
  /** The provider's attribution line; null: none is configured. */
  attribution: string | null;
  /** Whether the market that is polled, or any row of the archive, is simulated. */
  simulated: boolean;
  /** Whether a collector runs in this process. */
  live: boolean;
  /** Whether a token is asked for. */
  protected: boolean;
};

/** The newest quote of one series: an instrument, a source, real-time or delayed. */
export type QuoteRow = {
  instrumentId: number;
  /** `AAPL` or `AAPL:2026-12-18:CALL:150`. */
  instrument: string;
  symbol: string;
  description: string | null;
  expiration: string | null;
  optionType: "CALL" | "PUT" | null;
  strike: string | null;
  source: SourceKind;
  sourceId: number;
  sourceName: string;
  delayed: boolean;
  observedAt: string;
  bid: string | null;
  ask: string | null;
  /** ask - bid; null unless both are above 0. */
  spread: string | null;
  last: string | null;
  change: string | null;
  pctChange: string | null;
  bidSize: string | null;
  askSize: string | null;
  volume: string | null;
  delta: string | null;
};

/** An error with its remedy. */
export type Problem = {
  code: string;
  detail: string;
  /** What to do. */
  hint: string;
  /** Whether a person is needed; otherwise it passes by itself. */
  person: boolean;
};

/** One job and when it is due. */
export type JobView = {
  name: string;
  schedule: string;
  session: string;
  priority: number;
  /** The next slot; null when there is none within a year. */
  nextAt: string | null;
};

/** What only the running collector knows. */
export type Live = {
  /** Our calls of the last window, and how many of the limit the governor leaves to other programs. */
  callsUsed: number;
  /** The limit in force, and the one that is set. */
  limit: number;
  limitSet: number;
  windowMs: number;
  secondClient: number;
  /** `open`, `probing` (one call at a time) or `closed` (none until the budget returns). */
  phase: "open" | "probing" | "closed";
  /** How long the phase `closed` lasts, ms; 0 otherwise. */
  closedForMs: number;
  queued: number;
  /** Slots' instruments missed since the start. */
  missed: number;
  /** Instruments the service does not know. */
  unknown: string[];
  jobs: JobView[];
  /** Rows stored since the start. */
  quotesStored: number;
  /** What is wrong at the moment. */
  problems: Problem[];
};

/** One of `status`'s lines. */
export type StatusLine = { subject: string; state: "ok" | "attention" | "idle"; text: string };

/** Misses for one reason. `goesOn`: the newest slots of a job have them. */
export type MissedView = { reason: string; count: number; lastAt: string; goesOn: boolean };

/** What `quotekeeper status` finds. */
export type StatusView = {
  healthy: boolean;
  lines: StatusLine[];
  /** The polled market's calls of the last window, and what the service says of its own; null: not known. */
  budget: { calls: number; limit: number; serviceUsed: number | null; serviceLimit: number | null } | null;
  /** The polled market's slots of the last day; null: not known. */
  lastDay: { due: number; missed: MissedView[] } | null;
  /** What the database has not taken of the journal yet. */
  lag: { bytes: number; oldestAt: string | null } | null;
  /** The storage tier in words. */
  tier: string | null;
};

/** Answers of one minute by outcome. */
export type MinuteCalls = { at: string; outcome: string; calls: number };

/** The exchange's hours. */
export type MarketView = {
  phase: "pre" | "regular" | "post" | "closed";
  /** Why it is closed all day: `weekend`, a holiday's name; null on a day with a session. */
  closedReason: string | null;
  /** The next opening of the regular session; null while it lasts. */
  opensAt: string | null;
  /** The end of the regular session under way. */
  closesAt: string | null;
};

/** The Now view. */
export type NowView = {
  at: string;
  /** Whether the market that is polled is simulated, and its address where it is not. */
  feed: { simulated: boolean; address: string | null };
  /** Null where no collector runs in this process. */
  live: Live | null;
  market: MarketView;
  /** Null while it is being found out. */
  status: StatusView | null;
  journal: { bytes: number; segments: number } | null;
  /** The polled market's answers by minute, of the last half hour; null while the archive cannot be read. */
  minutes: MinuteCalls[] | null;
};

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
};

/** Why slots of one instrument are missing on one date. */
export type MissRow = {
  job: string;
  reason: string;
  count: number;
  firstAt: string;
  lastAt: string;
};

/** The answer in place of any of the above. */
export type ApiError = { error: Problem };
