/** What `status` says of a service whose answers are fresh, and whose quotes are not. */
import type { Account } from "../accounts/account.ts";
import {
  countUnchanged,
  DELAY_MS,
  type NewestQuotes,
  readNewestQuotes,
  readQuotedWithin,
} from "../archive/ask/newestQuotes.ts";
import type { Queryable } from "../archive/connect/transaction.ts";
import { counted } from "../ground/figures.ts";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import type { Calendar, TradingSession } from "../market/calendar/tradingCalendar.ts";
import { inHoursAndMinutes, inNewYork } from "../market/durations.ts";
import type { Line, StatusReport } from "./statusJson.ts";

/** Assumed: something newer comes of one of an account's instruments at least this often in the regular session, in ms. */
const QUIET_MS = 20 * 60_000;

/** Assumed: of so many instruments a value of one changes in that time, where the service says no times. */
const LEAST_INSTRUMENTS = 5;

/** The longest that no session is looked for, in days. */
const BACK_DAYS = 10;

type QuotesStatus = StatusReport["quotes"][number];

type QuotesQuestion = { calendar: Calendar; accounts: readonly Account[]; now: Date };

/**
 * Each account of a service in the newest regular session that has lasted long enough to tell; an account that was not asked in it is
 * left out. An account whose service has stored answers alone is never judged.
 */
export async function readQuotesStatus(
  pool: Queryable,
  { calendar, accounts, now }: QuotesQuestion,
): Promise<QuotesStatus[]> {
  const judged = accounts.filter((account) => !hasStoredAnswers(account)).map(({ name }) => name);
  const since = sessionBefore(calendar, now, DELAY_MS)?.date;
  if (judged.length === 0 || since === undefined) return [];
  const newest = await readNewestQuotes(pool, since);
  const found: QuotesStatus[] = [];
  for (const account of judged) {
    const feeds = feedsOf(
      newest.filter((one) => one.account === account),
      calendar,
      now,
    );
    const of: Omit<QuotesStatus, "account">[] = [];
    for (const feed of feeds) of.push(await judge(pool, feed));
    const [least] = of.sort((a, b) => Number(a.stuck) - Number(b.stuck) || a.quietMs - b.quietMs);
    if (least) found.push({ account, ...least });
  }
  return found;
}

function hasStoredAnswers({ service, feed }: Account): boolean {
  if (feed.kind === "simulated") return true;
  return service.addresses.some(({ baseUrl, stored }) => stored === true && baseUrl === feed.baseUrl);
}

/** The newest session that had run for `QUIET_MS` and a delay; null: there is none. */
function sessionBefore(calendar: Calendar, now: Date, delayMs: number): TradingSession | null {
  const today = exchangeDate(now);
  const sessions = calendar.sessions(addDays(today, -BACK_DAYS), today);
  return sessions.findLast(({ open }) => open.getTime() + delayMs + QUIET_MS < now.getTime()) ?? null;
}

/** Series of a source, delayed or not, in their session. Times of the market are real time: those of delayed quotes without the delay. */
type Feed = NewestQuotes & { session: TradingSession; delayMs: number; untilMs: number };

/** Those that were asked last: what was asked for by hand in the morning says nothing of now. */
function feedsOf(newest: readonly NewestQuotes[], calendar: Calendar, now: Date): Feed[] {
  const feeds = newest.flatMap((own): Feed[] => {
    const delayMs = own.delayed ? DELAY_MS : 0;
    const session = sessionBefore(calendar, now, delayMs);
    if (session?.date !== own.date) return [];
    const untilMs = Math.min(own.lastAt.getTime() - delayMs, session.close.getTime());
    const isWithin =
      untilMs >= session.open.getTime() && own.firstAt.getTime() - delayMs < session.close.getTime();
    if (!isWithin) return [];
    const later = newest.filter(
      ({ sourceId, delayed, date }) =>
        sourceId === own.sourceId && delayed === own.delayed && date >= own.date,
    );
    const times = later.flatMap(({ quotedAt }) => quotedAt?.getTime() ?? []);
    return [
      { ...own, session, delayMs, untilMs, quotedAt: times.length > 0 ? new Date(Math.max(...times)) : null },
    ];
  });
  const last = Math.max(...feeds.map(({ untilMs }) => untilMs));
  return feeds.filter(({ untilMs }) => untilMs >= last - QUIET_MS);
}

async function judge(pool: Queryable, feed: Feed): Promise<Omit<QuotesStatus, "account">> {
  const { session, delayMs, untilMs } = feed;
  const window = (lengthMs: number) => ({
    ...feed,
    from: new Date(Math.max(session.open.getTime(), untilMs - lengthMs) + delayMs - 1),
    to: new Date(untilMs + delayMs),
  });
  const said = { instruments: feed.instruments.length, quotedAt: feed.quotedAt?.toISOString() ?? null };
  if (feed.quotedAt === null) {
    const spacingMs = feed.spacingMs ?? 0;
    const by = new Date(untilMs + delayMs - QUIET_MS);
    const unchanged =
      feed.spacingMs === null || by.getTime() < session.open.getTime() + delayMs
        ? null
        : await countUnchanged(pool, window(QUIET_MS + 1.5 * spacingMs), { by, since: feed.date });
    const stuck = unchanged !== null && unchanged >= LEAST_INSTRUMENTS;
    return { ...said, quietMs: stuck ? QUIET_MS : 0, stuck };
  }
  const quietMs = (quotedAt: Date): number =>
    Math.max(0, untilMs - Math.max(quotedAt.getTime(), session.open.getTime()));
  if (quietMs(feed.quotedAt) <= QUIET_MS) return { ...said, quietMs: quietMs(feed.quotedAt), stuck: false };
  // The last answers may be those of one stuck server among several.
  const within = (await readQuotedWithin(pool, window(QUIET_MS))) ?? feed.quotedAt;
  const newest = within > feed.quotedAt ? within : feed.quotedAt;
  return {
    ...said,
    quotedAt: newest.toISOString(),
    quietMs: quietMs(newest),
    stuck: quietMs(newest) > QUIET_MS,
  };
}

/** No line while all that is asked moves. */
export function quotesLines(quotes: readonly QuotesStatus[]): Line[] {
  const told = quotes
    .filter(({ stuck }) => stuck)
    .map(({ account, quotedAt, quietMs, instruments }) => {
      const of = quotes.length > 1 ? ` of ${account}` : "";
      const time = `for ${inHoursAndMinutes(quietMs)} of the session`;
      return quotedAt === null
        ? `no value${of} has changed ${time}, of ${counted(instruments, "instrument")}`
        : `nothing newer than ${inNewYork(new Date(quotedAt))} has come${of}, ${time}`;
    });
  if (told.length === 0) return [];
  const text = `${told.join("; ")}: ask the service, its answers repeat old quotes`;
  return [{ subject: "quotes", state: "attention", text }];
}
