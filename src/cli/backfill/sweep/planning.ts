/** What a sweep has before it, by the configuration and what is kept: its plan, and the room beside the running schedule. */
import { resolve } from "node:path";
import { readLastPrices } from "../../../archive/ask/quotes.ts";
import { type SweepAsk } from "../../../backfill/sweep/ask.ts";
import { answersOfRun } from "../../../backfill/sweep/count.ts";
import { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import { underlyingsOf } from "../../../collect/chainBook.ts";
import { allRoom, type Room, roomBeside } from "../../../backfill/sweep/room.ts";
import { type SweepRun } from "../../../backfill/sweep/runFile.ts";
import { type Clock, dateOf, type Instant } from "../../../clock.ts";
import { FIRST_BATCH_SIZE } from "../../../collect/batchSize.ts";
import { planCalls } from "../../../collect/callPlan.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { createCalendar } from "../../../market/calendar/tradingCalendar.ts";
import { contractDate } from "../../../market/expirations.ts";
import { type Answer, classifyAnswer } from "../../../quotes-api/answer.ts";
import type { QuoteCall } from "../../../quotes-api/request.ts";
import type { Archive } from "../../../run/archive.ts";
import { thisProcess, talkToCollector } from "../../../run/beside/lock.ts";
import { governorOf } from "../../../run/callHistory.ts";
import { type JobsReport, readJobs } from "../../../schedule/readJobs.ts";
import type { SweepRequest } from "./sweepRequest.ts";

/** The plan of a sweep that began then, before any answer. */
export async function planOf(
  config: Config,
  ask: SweepAsk,
  { delayed, begunAt, now }: Pick<SweepRequest, "delayed"> & { begunAt: Instant; now: Date },
): Promise<SweepPlan> {
  const calendar = createCalendar((await readSchedule(config)).calendar);
  return new SweepPlan(ask, delayed, {
    begun: contractDate(dateOf(begunAt), calendar),
    today: contractDate(now, calendar),
    calendar,
  });
}

/** The calls that a plan still needs, as they would be made; lists first. */
export function callsOf(plan: SweepPlan, run: Pick<SweepRun, "name" | "begunAt">): QuoteCall[] {
  const due = { ...plan.dueOf(run.name), slotAt: run.begunAt, deadlineMs: Infinity, closes: false };
  const calls = planCalls([due], { batchSize: FIRST_BATCH_SIZE }).map(({ call }) => call);
  return ["symbols", "option"].flatMap((form) => calls.filter((call) => call.form === form));
}

/** Tells the plan of the answers that earlier runs left in the journal; counts the calls that brought quotes. */
export async function takeJournaled(
  journalDir: string,
  run: SweepRun,
  plan: SweepPlan,
): Promise<{ calls: number; quotes: number }> {
  const earlier = { calls: 0, quotes: 0 };
  if (!run.resumed) return earlier;
  for await (const { record } of answersOfRun(journalDir, run)) {
    const answer = classifyAnswer(record);
    plan.take(record.request as QuoteCall, answer);
    if (answer.outcome === "quotes") earlier.calls += 1;
    earlier.quotes += quotesIn(answer);
  }
  return earlier;
}

/** The quotes of an answer, those of underlyings included. */
export function quotesIn(answer: Answer): number {
  if (answer.outcome !== "quotes") return 0;
  const items = answer.document.items.flatMap((read) =>
    read.ok && !read.item.unknownSymbol ? [read.item] : [],
  );
  return items.length + items.filter(({ underlyingQuote }) => underlyingQuote !== null).length;
}

/**
 * The room that a sweep has now. Nobody else calls on a simulated service: it lives in the process.
 *
 * @param prices gives the last prices of symbols that chains of the job files hang on
 */
export async function roomOf(
  config: Config,
  clock: Clock,
  prices: (symbols: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Room> {
  const governor = governorOf(config);
  if (config.feed.kind === "simulated" || !(await isCollecting(config, clock))) return allRoom(governor);
  const schedule = await readSchedule(config);
  const chains = schedule.jobs.flatMap((job) => job.chains.filter(({ strikes }) => !Array.isArray(strikes)));
  return roomBeside(governor, schedule, { prices: await prices(underlyingsOf(chains)), now: clock.now() });
}

async function isCollecting({ dataDir }: Config, clock: Clock): Promise<boolean> {
  const talk = await talkToCollector(resolve(dataDir), { clock, self: await thisProcess() });
  talk?.end();
  return talk !== null;
}

/** The job files that can be read, and the operator's calendar; none where there is no directory of them. */
async function readSchedule({ jobsDir }: Config): Promise<Pick<JobsReport, "jobs" | "calendar">> {
  return readJobs(resolve(jobsDir)).catch(() => ({ jobs: [], calendar: [] }));
}

/** The last prices that the archive has of symbols; none when there is none, or it cannot be read. */
export async function lastPrices(
  archive: Pick<Archive, "pool"> | null,
  symbols: readonly string[],
): Promise<Map<string, string>> {
  return new Map(archive === null ? [] : await readLastPrices(archive.pool, symbols).catch(() => []));
}
