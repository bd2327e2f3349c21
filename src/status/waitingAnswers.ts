/** What `status` says of answers while the database takes none: it counts those that wait in the journal too. */
import type { Account } from "../accounts/account.ts";
import type { AccountAnswers, Health } from "../archive/ask/queries.ts";
import { dateOf } from "../ground/clock.ts";
import type { Lag } from "../journal/lag.ts";
import type { LedgerSource } from "../journal/ledger.ts";
import { readSegment } from "../journal/reader.ts";
import { DEFAULT_ACCOUNT, type ResponseRecord } from "../journal/record.ts";
import { listSegments } from "../journal/segments.ts";
import { NO_RATE_LIMIT } from "../quotes/rateLimit.ts";
import { answerOf, serviceNamed } from "../services/registry.ts";
import type { DatabaseFacts } from "./statusArchive.ts";
import type { AccountStatus } from "./statusJson.ts";

const COUNTED_MS = 3_600_000;

/** What waits for less is just being loaded, in ms. */
const WAITS_MS = 30_000;

/** So many bytes of answers are read through at most; of the others the status alone tells what they are. */
const MOST_BYTES = 8_000_000;

type WaitingCounts = AccountAnswers & { used: number | null; remaining: number | null; limit: number | null };

type WaitingQuestion = { dir: string; lag: Lag | null; accounts: readonly Account[]; now: Date };

/** Adds to what the database says what it has not taken; where it says nothing, that is all that is known. */
export async function withWaiting(found: DatabaseFacts, looking: WaitingQuestion): Promise<DatabaseFacts> {
  const { dir, lag, accounts, now } = looking;
  const oldest = lag?.oldestAt ?? null;
  const isTaken = oldest === null || now.getTime() - dateOf(oldest).getTime() < WAITS_MS;
  if (found.health !== null && isTaken) return found;
  const waiting = await readWaiting(dir, found.health?.loaded ?? new Map(), now);
  const last = waiting.at(-1);
  if (!last) return found;
  const market: LedgerSource = found.market ?? (last.market === "simulated" ? "simulated" : "account");
  const ofMarket = waiting.filter((one) => one.market === market);
  const called = found.accounts.length > 0 ? found.accounts : accounts.map(unknownOf);
  return {
    ...found,
    market,
    health: healthWith(found.health, ofMarket),
    answers: [
      ...found.answers,
      ...waiting.map(({ used: _u, remaining: _r, limit: _l, ...answer }) => answer),
    ],
    accounts: called.map((account) => accountWith(account, ofMarket, now)),
  };
}

/** Those of the last hour, in the order in which they were kept; none where the journal cannot be read, which its own line tells. */
async function readWaiting(
  dir: string,
  loaded: ReadonlyMap<string, number>,
  now: Date,
): Promise<WaitingCounts[]> {
  const sinceMs = now.getTime() - COUNTED_MS;
  const waiting: WaitingCounts[] = [];
  let bytes = 0;
  for (const { name, mtimeMs } of await listSegments(dir).catch(() => [])) {
    if (mtimeMs < sinceMs) continue;
    for await (const item of readSegment(dir, name, { from: loaded.get(name) ?? 0, mayBeGone: true })) {
      if (item.kind !== "record" || item.record.kind !== "response") continue;
      const { record } = item;
      if (record.source.kind === "import" || dateOf(record.observedAt).getTime() <= sinceMs) continue;
      bytes += record.body.byteLength;
      waiting.push(waitingOf(record, bytes <= MOST_BYTES));
    }
  }
  return waiting;
}

function waitingOf(record: ResponseRecord, isRead: boolean): WaitingCounts {
  const { account = DEFAULT_ACCOUNT, source, observedAt: lastAt, status } = record;
  const { used, remaining, limit } = serviceNamed(record.service)?.rateLimit(record.headers) ?? NO_RATE_LIMIT;
  const outcome = isRead || status !== 200 ? answerOf(record).outcome : "quotes";
  const { form = null } = record.request as { form?: string };
  return { account, market: source.kind, form, outcome, lastAt, used, remaining, limit };
}

const NOTHING: Health = {
  lastAnswerAt: null,
  lastQuotes: null,
  lastHour: {},
  lastOfOutcome: {},
  instruments: 0,
  sources: [],
  deadLettersToday: 0,
  lastDeadLetterAt: null,
  loaded: new Map(),
};

function healthWith(health: Health | null, waiting: readonly WaitingCounts[]): Health {
  const { lastAnswerAt, lastQuotes, lastHour, lastOfOutcome, ...rest } = health ?? NOTHING;
  const quotes = waiting.findLast(({ outcome }) => outcome === "quotes");
  const [hour, newest] = [{ ...lastHour }, { ...lastOfOutcome }];
  for (const { outcome, lastAt } of waiting) {
    hour[outcome] = (hour[outcome] ?? 0) + 1;
    newest[outcome] = lastAt;
  }
  return {
    ...rest,
    lastAnswerAt: waiting.at(-1)?.lastAt ?? lastAnswerAt,
    lastQuotes: quotes ? { account: quotes.account, at: quotes.lastAt } : lastQuotes,
    lastHour: hour,
    lastOfOutcome: newest,
  };
}

function unknownOf({ name, limit, limitWindowMs: windowMs }: Account): AccountStatus {
  return {
    name,
    state: "active",
    calls: 0,
    limit,
    windowMs,
    otherCalls: 0,
    lastAnswerAt: null,
    missed: {},
    serviceUsed: null,
    serviceLimit: null,
    serviceRemaining: null,
    market: null,
    outOfBudget: false,
  };
}

function accountWith(account: AccountStatus, waiting: readonly WaitingCounts[], now: Date): AccountStatus {
  const own = waiting.filter((one) => one.account === account.name);
  const last = own.at(-1);
  if (!last) return account;
  const inWindow = own.filter(({ lastAt }) => now.getTime() - Date.parse(lastAt) < account.windowMs);
  const says = inWindow.at(-1);
  return {
    ...account,
    calls: account.calls + inWindow.length,
    ...(says && { serviceUsed: says.used, serviceLimit: says.limit, serviceRemaining: says.remaining }),
    lastAnswerAt: last.lastAt,
    market: own.findLast(({ outcome }) => outcome === "quotes")?.market ?? account.market,
  };
}
