/** What a process that calls on an account must know of the runs before it, and where it notes its own calls. */
import { type Account, accountKey } from "../accounts/account.ts";
import { type Clock, dateOf, type Instant } from "../ground/clock.ts";
import { type CallLog, NO_CALL_LOG, openCallLog, readCalls, recentCalls } from "./callLog.ts";
import type { CallHistory, GovernorConfig } from "./governor/state.ts";
import { EarlierRuns } from "./earlierRuns.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { readSegment } from "../journal/reader.ts";
import { DEFAULT_ACCOUNT, type ResponseRecord } from "../journal/record.ts";
import { needsList } from "../market/optionChain.ts";
import { listSegments, type SegmentInfo } from "../journal/segments.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { contractDate } from "../market/expirations.ts";
import type { QuoteCall } from "../quotes/call.ts";
import type { ScheduledJob } from "../schedule/jobSchedule.ts";

export function governorOf(account: Pick<Account, "limit" | "limitGiven" | "limitWindowMs">): GovernorConfig {
  return { limit: account.limit, windowMs: account.limitWindowMs, mayRise: !account.limitGiven };
}

/** The calls of an account by all processes on this data directory. A null history: nothing is known to count. */
type Calls = { log: CallLog; history: CallHistory | null };

type CallsOptions = {
  dataDir: string;
  journalDir: string;
  clock: Clock;
  bootId: string | null;
  onProblem: (message: string) => void;
};

/**
 * Opens them. Calls to the simulated service count with its process alone.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function openCalls(
  account: Account,
  { journalDir, onProblem, ...present }: CallsOptions,
): Promise<Calls> {
  if (account.feed.kind === "simulated") return { log: NO_CALL_LOG, history: null };
  const options = {
    account: accountKey(account),
    governor: governorOf(account),
    ...present,
    onProblem: ({ message }: Error) =>
      onProblem(
        `Calls cannot be noted (${message}): after a kill the next run makes fewer of them at first.`,
      ),
  };
  const noted = readCalls(options);
  const answers = await readRecentAnswers(journalDir, noted, account);
  return { log: openCallLog(options), history: recentCalls(noted, answers) };
}

/**
 * Arrival times of the answers to an account that the journal holds of the last window, whichever process kept them, and
 * that are not noted: those of an older version, or of before a power failure.
 */
async function readRecentAnswers(
  dir: string,
  { requestIds, thenNow }: { requestIds: ReadonlySet<string>; thenNow: Date },
  { name: account, limitWindowMs }: Pick<Account, "name" | "limitWindowMs">,
): Promise<Instant[]> {
  const sinceMs = thenNow.getTime() - limitWindowMs;
  const recent: Instant[] = [];
  for (const { name, mtimeMs } of await listSegments(dir)) {
    if (mtimeMs < sinceMs) continue;
    for await (const item of readSegment(dir, name, { mayBeGone: true })) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { observedAt, requestId, account: its = DEFAULT_ACCOUNT } = item.record;
      if (its !== account) continue;
      if (dateOf(observedAt).getTime() > sinceMs && !requestIds.has(requestId)) recent.push(observedAt);
    }
  }
  return recent;
}

/** Bytes of the journal that are read at most: a start does not wait for more, and what was asked before is old. */
const MOST_BYTES = 32 * 1024 * 1024;

/** An exchange's date begins at the close before it, at most so long ago, in ms. */
const LISTED_WITHIN_MS = 26 * 3_600_000;

type HistoryScope = {
  jobs: readonly Pick<ScheduledJob, "job" | "schedule">[];
  /** The markets that are polled: an answer of another one says nothing of their slots. */
  sources: ReadonlySet<LedgerSource>;
  /** Says when a contract's day ends: a list of expirations holds for one. */
  exchange: Calendar;
  now: Date;
};

/**
 * What the runs before this one have asked lately.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function readEarlierRuns(
  dir: string,
  { jobs, sources, exchange, now }: HistoryScope,
): Promise<EarlierRuns> {
  const lasting = jobs.flatMap(({ schedule }) => schedule.current(now)?.getTime() ?? []);
  const earlier = new EarlierRuns(Math.min(...lasting, now.getTime()));
  const segments = await listSegments(dir);
  const recent = newest(segments);
  const answers = async function* (some: readonly SegmentInfo[]): AsyncGenerator<ResponseRecord> {
    for (const { name } of some)
      for await (const item of readSegment(dir, name, { mayBeGone: true })) {
        if (item.kind !== "record" || item.record.kind !== "response") continue;
        // Files that were imported have requests of their own, which say nothing of what was asked when.
        if ((sources as ReadonlySet<string>).has(item.record.source.kind)) yield item.record;
      }
  };
  const today = contractDate(now, exchange);
  const isOfToday = ({ requestedAt }: ResponseRecord): boolean =>
    contractDate(dateOf(requestedAt), exchange) === today;
  await readListed(answers(before(recent, segments, now)), { jobs, isOfToday }, earlier);
  for await (const record of answers(recent))
    earlier.add({ ...record, request: record.request as QuoteCall });
  return earlier;
}

/** Reads today's lists of expirations. They were asked for at the day's first slots, so that mostly little is read. */
async function readListed(
  answers: AsyncIterable<ResponseRecord>,
  { jobs, isOfToday }: Pick<HistoryScope, "jobs"> & { isOfToday: (record: ResponseRecord) => boolean },
  earlier: EarlierRuns,
): Promise<void> {
  const wanted = new Set(
    jobs.flatMap(({ job }) => job.chains.filter(needsList)).map((one) => one.underlying),
  );
  if (wanted.size === 0) return;
  for await (const record of answers) {
    const request = record.request as QuoteCall;
    if (request.form !== "expirations" || !isOfToday(record)) continue;
    earlier.add({ ...record, request });
    if (earlier.listed.has(request.underlying)) wanted.delete(request.underlying);
    if (wanted.size === 0) return;
  }
}

function before(
  recent: readonly SegmentInfo[],
  segments: readonly SegmentInfo[],
  now: Date,
): readonly SegmentInfo[] {
  const sinceMs = now.getTime() - LISTED_WITHIN_MS;
  return segments.slice(0, segments.length - recent.length).filter(({ mtimeMs }) => mtimeMs >= sinceMs);
}

function newest(segments: readonly SegmentInfo[]): SegmentInfo[] {
  let bytes = 0;
  const first = segments.findLastIndex(
    (segment) => (bytes += segment.bytes ?? segment.fileBytes) > MOST_BYTES,
  );
  return segments.slice(first + 1);
}
