/**
 * What the governor is told and what it remembers. Everything here is plain JSON data: times are
 * milliseconds on a clock that is never set back, and only their differences mean anything.
 */
import type { RateLimit } from "../../quotes/rateLimit.ts";

export type GovernorConfig = {
  readonly limit: number;
  readonly windowMs: number;
  /** Whether a higher limit is used when the headers name one: when `QUOTES_LIMIT` is not set. */
  readonly mayRise?: boolean;
  /** Whether calls leave evenly from the first one on: for work that can wait, beside programs that nobody knows of. */
  readonly evenly?: boolean;
};

export type EarlierCall = {
  readonly sentAgoMs: number;
  /** Ms since its answer or its failure; null when none is known. */
  readonly answeredAgoMs: number | null;
};

/** What earlier runs left: counting goes on from it. Ages need no common clock. */
export type CallHistory = {
  /** The calls of the last window, in any order; older ones do no harm. */
  readonly calls: readonly EarlierCall[];
  /**
   * Whether these are all calls there were, each with its true age. Not so when they come from the journal alone: its
   * times are the wall clock's, which may have been moved, and calls without an answer are missing from it.
   */
  readonly certain: boolean;
  /** How long the earlier run still meant to keep still, see `BudgetState.closedForMs`; 0 or absent when it did not. */
  readonly closedForMs?: number;
};

/**
 * Why no answer came that could be read: the service answered 5xx; it closed the connection before its answer was
 * whole; anything else (no connection, a deadline, a certificate). The first two may be the limit in disguise.
 */
export type FailureKind = "server_error" | "closed" | "other";

/** What happens to a call. `sentAtMs` is the time that was given with its `sent`. */
export type GovernorEvent =
  | { readonly type: "sent" }
  /** Its answer arrived: any HTTP answer that is neither a rate-limit fault nor a 5xx. */
  | { readonly type: "answered"; readonly sentAtMs: number; readonly rateLimit: RateLimit }
  /**
   * It was refused by the limit. `wallMs`, epoch ms UTC at arrival, lets `expire` be looked at; `retryAfterMs` is what
   * `Retry-After` asks for, from now, unbounded; null or absent when it asks for nothing.
   */
  | {
      readonly type: "faulted";
      readonly sentAtMs: number;
      readonly rateLimit: RateLimit;
      readonly wallMs?: number;
      readonly retryAfterMs?: number | null;
    }
  /** It failed; the server may have counted it until now. Headers and `Retry-After` as far as there was an answer. */
  | {
      readonly type: "failed";
      readonly sentAtMs: number;
      readonly how: FailureKind;
      readonly rateLimit?: RateLimit;
      readonly retryAfterMs?: number | null;
    }
  /** It was let go and did not leave: the service knows nothing of it. */
  | { readonly type: "withdrawn"; readonly sentAtMs: number }
  /** Another collector may call the same account from now on, or surely none does; see `unsure.ts`. */
  | { readonly type: "unsure"; readonly on: boolean; readonly mayCall: boolean }
  /** Another collector may call it already: it is listened for first. */
  | { readonly type: "listen" }
  | { readonly type: "tick" };

/** The end of a call, whether it was answered or not. */
export type CallEnd = Extract<GovernorEvent, { type: "answered" | "faulted" | "failed" }>;

/** A call that is over. The server counted it between these two instants, or not at all. */
export type FinishedCall = { readonly sentAtMs: number; readonly answeredAtMs: number };

/** What one answer told of the server's count. */
export type Reading = FinishedCall & {
  /** Calls the server counted in its own window, this one included; at most the limit. */
  readonly usedCount: number;
};

export type SecondClientSample = {
  readonly atMs: number;
  /** How long before it the reading before was, ms. */
  readonly spanMs: number;
  /** Calls that appeared since the reading before and cannot be ours. */
  readonly appearedCount: number;
  /** Calls of the other program in one window that this reading proved, at least. */
  readonly provedCount: number;
  /** The same, as far as the reading before bears it out: once alone it was a moment's jostle at the window's edge. */
  readonly windowCount: number;
  /** The most that was counted of it in one window since it is about; nothing projected or suspected. */
  readonly mostCount: number;
  /** The most that appeared at once since it is about, and has not come evenly since. */
  readonly atOnceCount: number;
  /** Until when this is reckoned with at the least, ms. */
  readonly holdsUntilMs: number;
};

/** The phases; `governor.ts` lists the moves between them. */
export type GovernorPhase = "probing" | "open" | "closed";

/** The calls a window that are ours where no header tells, as refusals taught; see `backOff.ts`. */
export type BackOff = {
  readonly capCount: number;
  /** How many calls the next step up adds, or the last one added when `tookStep`. */
  readonly stepCount: number;
  /** Whether the last change was a step up, and when it was. */
  readonly tookStep: boolean;
  readonly changedAtMs: number;
  /** For how many windows no further step is taken. */
  readonly patienceWindows: number;
};

type Failures = {
  /** When the failures of the last windows arrived, ascending. */
  readonly failedAtMs: readonly number[];
  /** When the first one of each run arrived: of failures without an answer in between. */
  readonly runsAtMs: readonly number[];
  /** Failures one after the other, and when the last of them arrived. */
  readonly runCount: number;
  readonly countedAtMs: number;
  /** How often failures have closed the budget since the last answered call. */
  readonly closedCount: number;
  /** When failures cut the calls a window, and when they were last seen to be the service's own; see `unwell.ts`. */
  readonly cutAtMs: readonly number[];
  readonly unwellAtMs: number | null;
  /** When that was last refuted, and the signs of it where no header tells; see `untold.ts`. */
  readonly refutedAtMs: number | null;
  readonly signsAtMs: readonly number[];
};

/** What closed the budget: a refusal, `Retry-After`, or failures that look like the limit. */
export type ClosedBy = "refusal" | "retry_after" | "failures";

export type GovernorState = {
  readonly config: GovernorConfig;
  readonly phase: GovernorPhase;
  /** The latest time seen; earlier times given afterwards count as this one. */
  readonly nowMs: number;
  /** When this run began to count, and whether it goes on from an earlier run's history. */
  readonly startedAtMs: number;
  readonly continued: boolean;
  /** The limit in force: the configured one, or what the headers name. */
  readonly limit: number;
  /** Whether the headers told the count, of the latest answered call or within a window. */
  readonly seesCount: boolean;
  /** Null when no refusal has taught that fewer calls are ours. */
  readonly backOff: BackOff | null;
  readonly failures: Failures;
  /** When the calls in flight were sent, ascending. */
  readonly inFlightSentAtMs: readonly number[];
  /** Finished calls of the last two windows, by the time of their answer. */
  readonly finished: readonly FinishedCall[];
  /** Calls that may leave at once, and when that was true; see `pace.ts`. */
  readonly burstCount: number;
  readonly burstAtMs: number;
  readonly lastReading: Reading | null;
  /** By their time. */
  readonly samples: readonly SecondClientSample[];
  /** When an answer last showed that the server had forgotten calls younger than a window. */
  readonly forgotAtMs: number | null;
  /** The latest instant at which a fixed window can have begun anew. */
  readonly resetAtMs: number | null;
  /** In the phase `closed`: when a call may be tried again. */
  readonly closedUntilMs: number;
  readonly closedBy: ClosedBy;
  /** When the latest fault arrived, and how many came since the last call that was let through. */
  readonly faultAtMs: number | null;
  readonly faultCount: number;
  /** When refused calls had been sent: places in the window to go around. */
  readonly refusedSentAtMs: readonly number[];
  /** While another collector may call the same account: whether we may, and what was known of others before. */
  readonly unsure: { readonly mayCall: boolean; readonly knownCount: number } | null;
  /** While we listen for it: when it was last heard, or we began; null when we do not. */
  readonly quietSinceMs: number | null;
  /** Calls of the knock that are still to make, and until when no call is made. */
  readonly knockCount: number;
  readonly stillUntilMs: number;
  /** Until when what the one before us sent is not known for certain. */
  readonly waryUntilMs: number;
};

/** Whether a call may leave now, and if not, the earliest time worth asking again (any event may bring it nearer). */
export type Admission =
  { readonly maySend: true } | { readonly maySend: false; readonly notBeforeMs: number };
