/** The plan of a sweep, and what earlier runs have done of it. */
import type { SweepAsk } from "../../../backfill/sweep/ask.ts";
import { answersOfRun } from "../../../backfill/sweep/journaled.ts";
import { SweepPlan } from "../../../backfill/sweep/plan.ts";
import { SweepQueue } from "../../../backfill/sweep/queue.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import { firstBatchSize } from "../../../collect/batchSize.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { dateOf, type Instant } from "../../../clock.ts";
import { createCalendar } from "../../../market/calendar/calendar.ts";
import { contractDate } from "../../../market/expirations.ts";
import { type Answer, classifyAnswer } from "../../../quotes-api/answer.ts";
import type { QuoteCall } from "../../../quotes-api/request.ts";
import type { SweepRequest } from "./readAsk.ts";
import { readSchedule } from "./schedule.ts";

/** The plan of a sweep that began then, before any answer. */
export async function planOf(
  config: Config,
  ask: SweepAsk,
  { delayed }: SweepRequest,
  { begunAt, now }: { begunAt: Instant; now: Date },
): Promise<SweepPlan> {
  const { calendar } = await readSchedule(config);
  return new SweepPlan(ask, delayed, {
    begun: contractDate(dateOf(begunAt)),
    today: contractDate(now),
    calendar: createCalendar(calendar),
  });
}

/** The calls that a plan still needs, as they would be made. */
export function callsOf(plan: SweepPlan, delayed: boolean): QuoteCall[] {
  const queue = new SweepQueue(delayed);
  queue.add(plan.left);
  return queue.calls(firstBatchSize);
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
