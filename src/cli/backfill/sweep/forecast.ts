/** `--dry-run` of a sweep: the calls that would be made, what they would bring, and how long they take. */
import { resolve } from "node:path";
import type { SweepAsk } from "../../../backfill/sweep/ask.ts";
import type { SweepPlan } from "../../../backfill/sweep/plan.ts";
import { type BackfillReport, NOTHING_DONE } from "../../../backfill/report.ts";
import { findRun } from "../../../backfill/sweep/runFile.ts";
import { OtherCollectors } from "../../../backfill/sweep/otherCollectors.ts";
import { callLines, fateLines } from "../../../backfill/sweep/words.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { instantFromDate } from "../../../clock.ts";
import type { QuoteCall } from "../../../quotes-api/request.ts";
import type { Edges } from "../../../run/edges.ts";
import { archiveExists, openArchive } from "../../../run/archive.ts";
import { journalDir } from "../../../run/collection.ts";
import { printReport } from "../report.ts";
import { governorOf } from "../../../run/callHistory.ts";
import { overview, polledBy } from "./overview.ts";
import { callsOf, planOf, takeJournaled } from "./planning.ts";
import type { SweepRequest } from "./readAsk.ts";
import { lastPrices, readSchedule } from "./schedule.ts";
import { say } from "../../terminal/harmless.ts";

/** Sends nothing and keeps nothing. @returns 0 */
export async function forecast(
  config: Config,
  edges: Edges,
  { ask, name, request }: { ask: SweepAsk; name: string; request: SweepRequest },
): Promise<number> {
  const { clock, stdout } = edges;
  const dir = journalDir(config);
  const run = request.restart ? null : await findRun(resolve(config.dataDir), name);
  const now = clock.now();
  const plan = await planOf(config, ask, request, { begunAt: run?.begunAt ?? instantFromDate(now), now });
  if (run) await takeJournaled(dir, run, plan);
  const prices = await knownPrices(config, edges, plan);
  const guessed = plan.waiting.map(({ underlying }) => underlying).filter((symbol) => prices.has(symbol));
  plan.price(prices);
  const otherCollectors = await OtherCollectors.open({
    ...{ clock, journalDir: dir, governor: governorOf(config), alone: config.feed.kind === "simulated" },
    // Nothing is sent.
    history: null,
    ...{ prices, readJobs: () => readSchedule(config), isOwn: () => false },
  });
  const calls = callsOf(plan, request.delayed);
  const remarks = [
    ...overview(config, plan, calls, otherCollectors),
    ...(run ? [`Earlier   ${polledBy(plan, run)}`] : []),
    ...chainLines(plan, guessed),
    ...fateLines(plan),
  ];
  if (request.json) {
    const all = [...remarks, ...callLines(calls, calls.length).map((line) => `Call    ${line}`)];
    const report = reportOf(calls, plan);
    printReport(edges, { kind: "sweep", dryRun: true, resumed: run !== null, report, remarks: all }, true);
  } else
    say(
      stdout,
      "Nothing was sent. This is what would be polled:",
      ...remarks,
      ...quotesLine(calls, plan),
      "Calls:",
      ...callLines(calls),
    );
  return 0;
}

/** Last prices of the archive, where something hangs on them: a chain of the sweep or of the job files. */
async function knownPrices(
  config: Config,
  { clock }: Edges,
  { waiting }: SweepPlan,
): Promise<Map<string, string>> {
  if (waiting.length === 0 && config.feed.kind === "simulated") return new Map();
  const archive = (await archiveExists(config)) ? await openArchive(config, clock).catch(() => null) : null;
  if (archive === null) return new Map();
  const prices = await lastPrices(archive);
  await archive.close().catch(() => undefined);
  return prices;
}

function chainLines({ waiting }: SweepPlan, guessed: readonly string[]): string[] {
  const names = [...new Set(guessed)].join(", ");
  return [
    ...(guessed.length > 0
      ? [`Chains    by the last price that the archive has of ${names}; the sweep asks for it first`]
      : []),
    ...waiting.map(
      ({ underlying }) =>
        `Chains    the contracts of ${underlying} are not counted: they hang on its price, which is polled first`,
    ),
  ];
}

/** What comes when the service knows all of it; the answer to an option holds a quote of its underlying as well. */
function reportOf(calls: readonly QuoteCall[], { left }: SweepPlan): BackfillReport {
  const quotes = left.length + contractsOf(calls);
  return { ...NOTHING_DONE, answers: calls.length, newAnswers: calls.length, read: quotes, stored: quotes };
}

function quotesLine(calls: readonly QuoteCall[], plan: SweepPlan): string[] {
  const { stored } = reportOf(calls, plan);
  const underlyings = contractsOf(calls);
  const besides =
    underlyings > 0 ? `; ${underlyings.toLocaleString("en-US")} of them are of the options' underlyings` : "";
  return [
    `Quotes    ${stored.toLocaleString("en-US")} would be stored if the service knows all of them${besides}`,
  ];
}

function contractsOf(calls: readonly QuoteCall[]): number {
  return calls.filter(({ form }) => form === "option").length;
}
