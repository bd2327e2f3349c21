/** What a plan still needs, and what is known before its first call: answers in the journal, prices in the archive. */
import { readKnownOfChains } from "../../../archive/ask/quotes.ts";
import { answersOfRun } from "../../../backfill/sweep/count.ts";
import type { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import { planCalls } from "../../../collect/callPlan.ts";
import { underlyingsOf } from "../../../collect/chainBook.ts";
import { exchangeDate } from "../../../market/calendar/dates.ts";
import { type Chain, type KnownOfChains, NOTHING_KNOWN } from "../../../market/optionChain.ts";
import type { Answer } from "../../../quotes/answer.ts";
import type { QuoteCall } from "../../../quotes/call.ts";
import type { Archive } from "../../../run/archive.ts";
import { answerOf } from "../../../services/registry.ts";

/** The calls that a plan still needs, as they would be made; lists first. @param batchSize symbols in one call */
export function callsOf(
  plan: SweepPlan,
  run: Pick<SweepRun, "name" | "begunAt">,
  batchSize: number,
): QuoteCall[] {
  const due = { ...plan.dueOf(run.name), slotAt: run.begunAt, deadlineMs: Infinity, closes: false };
  const calls = planCalls([due], { batchSize }).map(({ call }) => call);
  const isList = ({ form }: QuoteCall): boolean => form === "symbols";
  return [...calls.filter(isList), ...calls.filter((call) => !isList(call))];
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
    const answer = answerOf(record);
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

/** What the archive knows of chains; nothing when there is none, or it cannot be read. */
export async function knownOfChains(
  archive: Pick<Archive, "pool"> | null,
  chains: readonly Chain[],
  now: Date,
): Promise<KnownOfChains> {
  if (archive === null) return NOTHING_KNOWN;
  return readKnownOfChains(archive.pool, underlyingsOf(chains), exchangeDate(now)).catch(() => NOTHING_KNOWN);
}
