/** What a sweep says before its first call: how many instruments, calls and minutes. */
import type { SweepPlan } from "../../../backfill/sweep/plan.ts";
import { shareOf } from "../../../backfill/sweep/reserve.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { OtherCollectors } from "../../../backfill/sweep/otherCollectors.ts";
import { counted, lowerCaseLine } from "../../../backfill/sweep/words.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../../errors.ts";
import type { QuoteCall } from "../../../quotes-api/request.ts";
import type { Edges } from "../../../run/edges.ts";
import { inNewYork, roughly } from "../../../run/durations.ts";
import { callsOf } from "./planning.ts";
import { say } from "../../terminal/harmless.ts";

/** A sweep that is about to begin. */
export type Announced = {
  plan: SweepPlan;
  run: SweepRun;
  otherCollectors: OtherCollectors;
  simulated: boolean;
  delayed: boolean;
};

/** Says before the first call what is to come. @throws QuotekeeperError SWEEP_NO_ROOM when the schedule leaves no call */
export function announce(
  { stderr }: Pick<Edges, "stderr">,
  config: Config,
  { plan, run, otherCollectors, simulated, delayed }: Announced,
): void {
  const calls = callsOf(plan, delayed);
  const lines = [
    ...(simulated
      ? ["SIMULATED market: these quotes are made up. Set QUOTES_BASE_URL to sweep a real account."]
      : []),
    ...(run.resumed ? [`Goes on: ${polledBy(plan, run)}.`] : []),
    ...(run.resumed && calls.length === 0
      ? ["Nothing is left to be polled; what the journal has of it is loaded."]
      : overview(config, plan, calls, otherCollectors)),
  ];
  say(stderr, ...lines);
  if (calls.length > 0 && otherCollectors.timeFor(calls.length) === null)
    throw new QuotekeeperError(
      "SWEEP_NO_ROOM",
      `the job files need ${otherCollectors.reserved} of ${config.limit} calls, and a collector runs`,
    );
}

/** Instruments, calls and time, in lines. */
export function overview(
  { limit, limitWindowMs }: Config,
  plan: SweepPlan,
  calls: readonly QuoteCall[],
  otherCollectors: OtherCollectors,
): string[] {
  const contracts = calls.filter(({ form }) => form === "option").length;
  const lists = calls.length - contracts;
  const what = [
    `${counted(plan.left.length - contracts, "symbol")} in ${counted(lists, "list")}`,
    counted(contracts, "option contract"),
  ].join(", ");
  const later =
    plan.waiting.length > 0 ? "; the contracts of chains come on top when their prices have come" : "";
  const leftMs = otherCollectors.timeFor(calls.length);
  const time = leftMs === null ? "no end in sight" : `about ${roughly(leftMs)}`;
  const window = limitWindowMs === 60_000 ? "a minute" : `in ${roughly(limitWindowMs)}`;
  const { reserved, collecting } = otherCollectors;
  const kept = limit - shareOf({ limit }, reserved);
  return [
    `Sweep     ${counted(plan.left.length, "instrument")} in ${counted(calls.length, "call")}: ${what}${later}`,
    `Time      ${time}: ${limit} calls ${window}${collecting ? `, ${kept} of them kept free for the running schedule` : ""}`,
    ...lowerCaseLine(plan),
  ];
}

/** What earlier runs have polled: `40 instruments were polled by the sweep begun 2026-11-20 17:50:00 New York, 10 remain`. */
export function polledBy(plan: SweepPlan, { begunAt }: SweepRun): string {
  const remain = plan.left.length;
  return `${counted(plan.size - remain, "instrument")} were polled by the sweep begun ${inNewYork(new Date(begunAt))}, ${remain.toLocaleString("en-US")} remain`;
}
