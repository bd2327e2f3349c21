/**
 * The data path, read first: schedule -> plan -> govern -> fetch -> journal -> read -> archive.
 *
 * `openCollector` joins all of it, for `start` and `collect` and for commands that poll once; `collectCall` is the half behind the
 * governor. This file computes nothing: what is due and when a call may leave is decided in `schedule/` and `collect/`,
 * what an answer becomes in `read/` and `archive/`.
 */
import type { Account } from "../accounts/account.ts";
import { type Clock, instantFromDate } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { OnceNote } from "./once/onceJournal.ts";
import type { Sharer } from "../accounts/partition.ts";
import { Shares } from "../accounts/shares.ts";
import type { Loader } from "../archive/load/loader.ts";
import type { ArrivedAnswer, Send } from "../collect/dispatch/callEnds.ts";
import { Collector, type CollectorOptions } from "../collect/collector.ts";
import { type CalledAccount, sharerOf } from "../collect/accountDispatchers.ts";
import { isOnce, type PlannedCall } from "../collect/callPlan.ts";
import type { ResponseRecord } from "../journal/record.ts";
import type { Answer } from "../quotes/answer.ts";
import type { Fleet } from "../accounts/lease/fleet.ts";
import type { AccountStations, Stations } from "./stations.ts";

/** What a collector polls, whom it tells, and the stations it polls through. */
type PipelineParts = Omit<CollectorOptions, "accounts" | "shares"> & {
  accounts: readonly CalledAccount[];
  /** All accounts that share the jobs; other collectors may call some of them. Default: those that are called here. */
  sharing?: readonly Sharer[];
  /** Whether an account is called here. Default: all are. */
  isCalled?: (account: string) => boolean;
};

/** Joins schedule, plan and governor, which are the collector's, with what comes behind them. */
export function openCollector({ accounts, sharing, isCalled, ...polled }: PipelineParts): Collector {
  return new Collector({
    ...polled, // jobs and calendar: what is due, and when
    shares: new Shares(sharing ?? accounts.map(sharerOf), isCalled, polled.batch.first), // the owner of each instrument
    accounts, // each with its limit, the calls before this run that count, and the way of its calls
  });
}

type CallContext = {
  clock: Pick<Clock, "now">;
  stations: Pick<Stations, "requestId" | "journal">;
  /** Reads the journal from where it left off, and stores rows and its place in one transaction. */
  loader: Pick<Loader, "notify">;
  /** Awaited before each call; what it gives is asked when the call is about to be written: whether it may leave. */
  lease: Pick<Fleet, "confirm">;
  /** Tells somebody of the calls that pass. */
  metered: (send: Send, account: Account) => Send;
};

export function calledAccount(
  open: AccountStations,
  { clock, stations, loader, lease, metered }: CallContext,
): CalledAccount {
  const { name } = open.account;
  const send: Send = async (planned, signal, onArrived) => {
    try {
      const mayLeave = await lease.confirm(name, signal);
      return await collectCall(planned, { ...stations, ...open, loader }, { signal, onArrived, mayLeave }); // fetch -> journal -> read -> archive
    } catch (error) {
      if (isOnce(planned)) await noteFailure({ clock, stations }, planned, error);
      throw error;
    }
  };
  return { ...open.budget, send: metered(send, open.account) };
}

/** Somebody who has asked for the call reads in the journal why no answer came. Where that cannot be written, the log says it. */
async function noteFailure(
  { clock, stations: { journal } }: Pick<CallContext, "clock" | "stations">,
  { jobs: [job = ""], slotAt }: PlannedCall,
  error: unknown,
): Promise<void> {
  if (!(error instanceof QuotekeeperError) || slotAt === null) return;
  const { code, detail } = error;
  const note: OnceNote = { type: "once", job, slotAt, code, detail, over: false };
  await journal.append({ kind: "note", at: instantFromDate(clock.now()), note }).catch(() => undefined);
}

/** An answer that is safe: it is on disk, and the loader knows of it. */
export type CollectedAnswer = { record: ResponseRecord; answer: Answer; segment: string };

/** The stations behind the governor, each with the few methods needed of it. */
type CallPath = Pick<AccountStations, "fetchQuotes" | "sourceOf"> & {
  account: Pick<Account, "name" | "service">;
  requestId: Stations["requestId"];
  journal: Pick<Stations["journal"], "append">;
  calls: Pick<AccountStations["calls"], "leaves">;
  loader: Pick<Loader, "notify">;
};

/** What a call under way is told by, and tells. */
type CallGuard = {
  signal?: AbortSignal;
  onArrived?: (arrived: ArrivedAnswer) => void;
  /** See `FetchQuotes`. */
  mayLeave?: () => boolean;
};

/**
 * Takes one call through the stations. Rejects when no answer arrived, or it could not be kept.
 *
 * @param options.onArrived told of the answer before it is kept
 */
export async function collectCall(
  { call, jobs, slotAt }: Pick<PlannedCall, "call" | "jobs" | "slotAt">,
  { account, requestId: newRequestId, calls, fetchQuotes, sourceOf, journal, loader }: CallPath,
  { signal, onArrived, mayLeave }: CallGuard = {},
): Promise<CollectedAnswer> {
  const requestId = newRequestId();
  const over = calls.leaves(requestId); // counted by the next run too, should this one be killed
  const response = await fetchQuotes(call, signal, mayLeave).finally(over); // signed GET, admitted by the governor
  const answer = account.service.classify(response);
  onArrived?.({ headers: response.headers, answer }); // the next call may be let go at once: it must be known by then
  const source = sourceOf(response);
  const record: ResponseRecord = {
    kind: "response",
    requestId,
    source,
    account: account.name,
    service: account.service.name,
    jobs,
    slotAt,
    request: call,
    ...response,
  };
  const { segment } = await journal.append(record); // on disk before anything reads it
  loader.notify(segment); // parsed and stored from there, rows and position in one transaction
  return { record, answer, segment };
}
