/** The Now view: what the collector knows this second, and what takes longer to find out, a few seconds old. */
import type pg from "pg";
import { atMost, type Clock, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import { rememberAnswers } from "./api/rememberAnswers.ts";
import type { MarketView, NowView } from "./api/types.ts";
import type { NowSources } from "./live.ts";
import { readMinutes } from "../archive/ask/coverageView.ts";

/** How old what `status` and the archive say may be, ms: the disk and the database are not asked every second. */
const FRESH_MS = 5_000;

/** How many days ahead the next opening is looked for. */
const AHEAD_DAYS = 14;

/** How long an answer waits for what takes longer, in ms; then it says what was known before. */
const WAIT_MS = 1_000;

type Slow = Pick<NowView, "status" | "journal" | "minutes">;

type Options = { pool: pg.Pool; clock: Clock; log: Log; sources: NowSources; calendar: Calendar };

/** Reads the Now view; whoever asks while it is being found out waits for the same answer. */
export function createNowReader({ pool, clock, log, sources, calendar }: Options): () => Promise<NowView> {
  const slow = rememberAnswers(clock, FRESH_MS);
  const known: Slow = { status: null, journal: null, minutes: null };
  const finding = { status: false, journal: false, minutes: false };

  /** Finds one thing out, unless that is still under way: a database that does not answer is not asked once more. */
  const find = async <Key extends keyof Slow>(key: Key, work: () => Promise<Slow[Key]>): Promise<void> => {
    if (finding[key]) return;
    finding[key] = true;
    known[key] = await work().catch((error: unknown) => {
      log.debug({ err: error }, `the dashboard could not read the ${key}`);
      return null as Slow[Key];
    });
    finding[key] = false;
  };

  const slowly = async (now: Date): Promise<void> => {
    const configured = sources.feed.simulated ? "simulated" : "account";
    const all = Promise.all([
      find("status", sources.status),
      find("journal", sources.journal),
      find("minutes", () => readMinutes(pool, configured, now)),
    ]);
    await atMost(WAIT_MS, all, systemClock);
  };

  return async () => {
    await slow("", () => slowly(clock.now()));
    const now = clock.now();
    return {
      at: now.toISOString(),
      feed: sources.feed,
      collects: sources.collects,
      live: sources.live(),
      market: marketAt(calendar, now),
      ...known,
    };
  };
}

/** The exchange's hours around an instant. */
export function marketAt(calendar: Calendar, now: Date): MarketView {
  const phase = calendar.phaseAt(now);
  const today = exchangeDate(now);
  const ahead = calendar.sessions(today, addDays(today, AHEAD_DAYS));
  const next = ahead.find(({ open }) => open > now);
  const regular = phase === "regular" ? calendar.session(today) : null;
  return {
    phase,
    closedReason: calendar.closedReason(today),
    opensAt: phase === "regular" ? null : (next?.open.toISOString() ?? null),
    closesAt: regular?.close.toISOString() ?? null,
  };
}
