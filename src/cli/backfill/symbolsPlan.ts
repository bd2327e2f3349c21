/** The plan of a sweep: its name, the instruments and calls that are known before the first call, and what a dry run says of them. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { type Account, inOne } from "../../accounts/account.ts";
import { NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import type { SymbolsAsk } from "../../backfill/symbolsAsk.ts";
import { type DueJob, dueNames } from "../../collect/asks.ts";
import { planCalls } from "../../collect/callPlan.ts";
import { ChainBook } from "../../collect/chainBook.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { instantFromDate } from "../../ground/clock.ts";
import type { Edges } from "../../ground/edges.ts";
import { counted } from "../../ground/figures.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { roughly } from "../../market/durations.ts";
import { instrumentName, option } from "../../market/instrument.ts";
import { describeCall, type QuoteCall } from "../../quotes/call.ts";
import { readCalendarDays } from "../../schedule/readJobs.ts";
import { say } from "../terminal/harmless.ts";
import { type CommonRequest, printReport } from "./report.ts";
import { inLists } from "../../services/registry.ts";

const MOST_CALLS = 12;

/** The same whenever the same instruments are asked of the same service, in whatever order. */
export function nameOf(
  { symbols, contracts, chains }: SymbolsAsk,
  { delayed, first }: { delayed: boolean; first: Account },
): string {
  const asked = {
    symbols: symbols.toSorted(),
    contracts: contracts.map((contract) => instrumentName(option(contract))).toSorted(),
    chains,
    delayed,
    service: serviceOf(first.feed),
  };
  return `sweep-${createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 12)}`;
}

function serviceOf(feed: Config["feed"]): string {
  if (feed.kind === "simulated") return "simulated";
  const { host, pathname } = new URL(feed.baseUrl);
  return `${host}${pathname}`;
}

export function namesIn(
  { symbols, contracts }: SymbolsAsk,
  delayed: boolean,
  { service }: Account,
): readonly string[] {
  return dueNames({ job: dueJob({ delayed, service }), symbols, contracts });
}

function dueJob({ delayed, service }: { delayed: boolean; service: Account["service"] }): DueJob["job"] {
  return { name: "sweep", delayed, priority: -1000, watchlist: null, ...inLists(service) };
}

/** The calls that are known before the first, and what is to be said of them. */
export async function planOf(
  config: Config,
  edges: Edges,
  {
    accounts,
    ask,
    delayed,
  }: { accounts: readonly [Account, ...Account[]]; ask: SymbolsAsk; delayed: boolean },
): Promise<{ remarks: string[]; calls: QuoteCall[] }> {
  const market = inOne(accounts);
  const calendar = createCalendar((await readCalendarDays(resolve(config.jobsDir))) ?? []);
  const chains = new ChainBook(calendar, () => undefined);
  const now = edges.clock.now();
  const asked = { symbols: ask.symbols, options: ask.contracts, chains: ask.chains };
  const expanded = chains.asked(asked, chains.contractDate(now));
  const end = { slotAt: instantFromDate(now), deadlineMs: Infinity, closes: false };
  const due = { job: dueJob({ delayed, service: market.service }), ...end, ...expanded };
  const planned = planCalls([due], { batchSize: market.service.batch.first }).map(({ call }) => call);
  const isList = ({ form }: QuoteCall): boolean => form === "symbols";
  const calls = [...planned.filter(isList), ...planned.filter((call) => !isList(call))];
  const { pending } = chains.expand(asked, chains.contractDate(now));
  const takesMs = (calls.length * market.limitWindowMs) / market.limit;
  const window = market.limitWindowMs === 60_000 ? "a minute" : `in ${roughly(market.limitWindowMs)}`;
  const remarks = [
    `Sweep     ${counted(dueNames(due).length, "instrument")} in ${counted(calls.length, "call")}`,
    `Time      about ${roughly(takesMs)}: ${counted(market.limit, "call")} ${window}, if nothing else calls`,
    ...pending.map(
      (name) =>
        `Chains    the contracts of the ${name} are not counted: what they hang on is asked for first`,
    ),
  ];
  return { remarks, calls };
}

/** Prints which calls would be made. @returns 0 */
export function forecast(
  edges: Edges,
  { remarks, calls }: { remarks: readonly string[]; calls: readonly QuoteCall[] },
  printJson: CommonRequest["printJson"],
): number {
  if (printJson) {
    const lines = [...remarks, ...calls.map((call) => `Call      ${describeCall(call)}`)];
    const report = { ...NOTHING_DONE, answers: calls.length, newAnswers: calls.length };
    printReport(edges, { kind: "sweep", dryRun: true, resumed: false, report, remarks: lines }, printJson);
    return 0;
  }
  const listed = calls.slice(0, MOST_CALLS).map((call) => `  ${describeCall(call)}`);
  const more = calls.length > MOST_CALLS ? [`  and ${counted(calls.length - MOST_CALLS, "call")} more`] : [];
  say(
    edges.stdout,
    "Nothing was sent. This is what would be polled:",
    ...remarks,
    "Calls:",
    ...listed,
    ...more,
  );
  return 0;
}
