/** The Now view: what the collector knows this second, and what takes longer to find out, a few seconds old. */
import type pg from "pg";
import { atMost, type Clock, systemClock } from "../ground/clock.ts";
import type { Log } from "../ground/log.ts";
import type { Calendar } from "../market/calendar/tradingCalendar.ts";
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import { rememberAnswers } from "./api/rememberAnswers.ts";
import type { JobsView, MarketView, NowView, PageFacts } from "./api/types.ts";
import type { NowSources } from "./live.ts";
import { readAccountsView } from "../archive/ask/accountsView.ts";
import { readGlance, readSourcesStored } from "../archive/ask/quotes.ts";

/** How old what `status` and the archive say may be, ms: the disk and the database are not asked every second. */
const FRESH_MS = 5_000;

/** How long what the archive says of its sources counts, ms: it is found out by a look at all bars. */
const SOURCES_KNOWN_MS = 60_000;

const AHEAD_DAYS = 14;

/** How long an answer waits for what takes longer, in ms; then it says what was known before. */
const WAIT_MS = 1_000;

type Slow = Pick<NowView, "status" | "journal" | "jobs" | "quotes" | "fleet">;

type Options = {
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  sources: NowSources;
  calendar: Calendar;
  /** What the frame has of the configuration. */
  page: Omit<PageFacts, "simulated" | "mixed">;
  jobs: () => Promise<JobsView | null>;
};

/** Reads the Now view; whoever asks while it is being found out waits for the same answer. */
export function createNowReader({
  pool,
  clock,
  log,
  sources,
  calendar,
  page,
  jobs,
}: Options): () => Promise<NowView> {
  const slow = rememberAnswers(clock, FRESH_MS);
  const known: Slow = { status: null, journal: null, jobs: null, quotes: null, fleet: null };
  const finding = new Set<keyof Slow>();
  const { marks, look } = createMarks({ pool, clock, log, sources });

  /** Finds one thing out, unless that is still under way: a database that does not answer is not asked once more. */
  const find = async <Key extends keyof Slow>(key: Key, work: () => Promise<Slow[Key]>): Promise<void> => {
    if (finding.has(key)) return;
    finding.add(key);
    known[key] = await work().catch((error: unknown) => {
      log.debug({ err: error }, `the dashboard could not read the ${key}`);
      return null as Slow[Key];
    });
    finding.delete(key);
  };

  const slowly = async (now: Date): Promise<void> => {
    const configured = sources.feed.simulated ? "simulated" : "account";
    const all = Promise.all([
      look(),
      find("status", sources.status),
      find("journal", sources.journal),
      find("jobs", jobs),
      find("quotes", () => readGlance(pool)),
      find("fleet", async () => {
        const fleet = await readAccountsView(pool, configured, now);
        return fleet.accounts.length > 1 || fleet.collectors.length > 1 ? fleet : null;
      }),
    ]);
    await atMost(WAIT_MS, all, systemClock);
  };

  return async () => {
    await slow("", () => slowly(clock.now()));
    const now = clock.now();
    return {
      at: now.toISOString(),
      page: { ...page, ...marks },
      feed: sources.feed,
      collects: sources.collects,
      live: sources.live(),
      market: marketAt(calendar, now),
      ...known,
    };
  };
}

/** What marks the page: whether prices are simulated, and whether sources are mixed. */
function createMarks({ pool, clock, log, sources }: Pick<Options, "pool" | "clock" | "log" | "sources">) {
  const remember = rememberAnswers(clock, SOURCES_KNOWN_MS);
  // Rows are not taken out of an archive: once there, a mark stays, also while the database is away.
  const marks = { simulated: sources.feed.simulated, mixed: false };
  const look = async (): Promise<void> => {
    if (marks.simulated && marks.mixed) return;
    try {
      const stored = await remember("", () => readSourcesStored(pool));
      marks.simulated ||= stored.some(({ kind }) => kind === "simulated");
      marks.mixed = stored.length > 1;
    } catch (error) {
      log.debug({ err: error }, "the dashboard could not look for the archive's sources");
    }
  };
  return { marks, look };
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
