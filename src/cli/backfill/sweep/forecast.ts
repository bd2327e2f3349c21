/** What a sweep says before its first call, and all that `--dry-run` says: the calls, what they bring, how long they take. */
import type { Room } from "../../../backfill/sweep/room.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import { callLines, fateLines } from "../../../backfill/sweep/sweepWords.ts";
import { type BackfillReport, NOTHING_DONE } from "../../../archive/refill/backfillReport.ts";
import { instantFromDate } from "../../../clock.ts";
import { QuotekeeperError } from "../../../errors.ts";
import { counted, thousands } from "../../../figures.ts";
import type { QuoteCall } from "../../../quotes/call.ts";
import { inNewYork, roughly } from "../../../run/durations.ts";
import type { Edges } from "../../../run/edges.ts";
import { say } from "../../terminal/harmless.ts";
import { printReport } from "../report.ts";
import type { OpenSweep, Outlook } from "./openSweep.ts";
import { callsOf } from "./planning.ts";
import type { Wanted } from "./sweepRequest.ts";

/** Prints what a sweep would do. @returns 0 */
export function forecast(
  edges: Edges,
  { name, request }: Pick<Wanted, "name" | "request">,
  { plan, run, room, batch, now, guessed }: Outlook,
): number {
  const calls = callsOf(plan, run ?? { name, begunAt: instantFromDate(now) }, batch.first);
  const remarks = [
    ...overview({ plan, calls }, room, now),
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
      edges.stdout,
      "Nothing was sent. This is what would be polled:",
      ...remarks,
      ...quotesLine(calls, plan),
      "Calls:",
      ...callLines(calls),
    );
  return 0;
}

function chainLines({ waiting }: SweepPlan, guessed: readonly string[]): string[] {
  const names = [...new Set(guessed)].join(", ");
  return [
    ...(guessed.length > 0
      ? [`Chains    by what the archive has of ${names}; the sweep asks for it first`]
      : []),
    ...waiting.map(
      ({ underlying }) =>
        `Chains    those of ${underlying} are not counted: they hang on its price or its expirations, which are asked for first`,
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
    underlyings > 0 ? `; ${thousands(underlyings)} of them are of the options' underlyings` : "";
  return [`Quotes    ${thousands(stored)} would be stored if the service knows all of them${besides}`];
}

function contractsOf(calls: readonly QuoteCall[]): number {
  return calls.filter(({ form }) => form === "option").length;
}

/** Says before the first call what is to come. @throws QuotekeeperError SWEEP_NO_ROOM when the schedule leaves no call */
export function announce(
  { stderr, clock }: Pick<Edges, "stderr" | "clock">,
  { plan, run, room, batch, simulated }: Pick<OpenSweep, "plan" | "run" | "room" | "batch" | "simulated">,
): void {
  const calls = callsOf(plan, run, batch.first);
  const now = clock.now();
  const lines = [
    ...(simulated
      ? [
          "SIMULATED market: these quotes are made up. Set QUOTES_SERVICE or QUOTES_BASE_URL to sweep a real account.",
        ]
      : []),
    ...(run.resumed ? [`Goes on: ${polledBy(plan, run)}.`] : []),
    ...(run.resumed && calls.length === 0
      ? ["Nothing is left to be polled; what the journal has of it is loaded."]
      : overview({ plan, calls }, room, now)),
  ];
  say(stderr, ...lines);
  if (calls.length > 0 && room.timeFor(calls.length, now) === null)
    throw new QuotekeeperError(
      "SWEEP_NO_ROOM",
      `the job files need ${room.reserved} of ${room.limit} calls, and a collector runs`,
    );
}

/** Instruments, calls and time, in lines. */
function overview(
  { plan, calls }: { plan: SweepPlan; calls: readonly QuoteCall[] },
  { limit, windowMs, collecting, kept, timeFor }: Room,
  now: Date,
): string[] {
  const of = (form: QuoteCall["form"]): number => calls.filter((call) => call.form === form).length;
  const [lists, contracts, chains, asked] = [of("symbols"), of("option"), of("chain"), of("expirations")];
  const what = [
    `${counted(plan.left.length - contracts - chains - asked, "symbol")} in ${counted(lists, "list")}`,
    counted(contracts, "option contract"),
    ...(chains > 0 ? [counted(chains, "whole chain")] : []),
    ...(asked > 0 ? [counted(asked, "list of expirations", "lists of expirations")] : []),
  ].join(", ");
  const later =
    plan.waiting.length > 0 ? "; chains come on top when their prices and expirations have come" : "";
  const leftMs = timeFor(calls.length, now);
  const time = leftMs === null ? "no end in sight" : `about ${roughly(leftMs)}`;
  const window = windowMs === 60_000 ? "a minute" : `in ${roughly(windowMs)}`;
  return [
    `Sweep     ${counted(plan.left.length, "instrument")} in ${counted(calls.length, "call")}: ${what}${later}`,
    `Time      ${time}: ${counted(limit, "call")} ${window}${collecting ? `, ${kept} of them kept free for the running schedule` : ""}`,
  ];
}

/** What earlier runs have polled: `40 instruments were polled by the sweep begun 2026-11-20 17:50:00 New York, 10 remain`. */
function polledBy(plan: SweepPlan, { begunAt }: SweepRun): string {
  const remain = plan.left.length;
  return `${counted(plan.size - remain, "instrument")} were polled by the sweep begun ${inNewYork(new Date(begunAt))}, ${thousands(remain)} remain`;
}
