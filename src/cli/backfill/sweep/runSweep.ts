/** Opens the stations of a sweep one after the other, sweeps, loads, says what became of it, and closes them in reverse order. */
import { resolve } from "node:path";
import type { SweepAsk } from "../../../backfill/sweep/ask.ts";
import { type SweepPlan, fateLines, leftLine } from "../../../backfill/sweep/sweepPlan.ts";
import { closeRun, openRun, type SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { Room } from "../../../backfill/sweep/room.ts";
import { sweep, type SweepOptions } from "../../../backfill/sweep/sweep.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { type CallPath, collectCall } from "../../../run/pipeline.ts";
import { type AccountStations, openStations } from "../../../run/stations.ts";
import { accountsToCall } from "../../../run/operatorsWord.ts";
import { thisProcess } from "../../../run/beside/lock.ts";
import { askForCall } from "../../../run/beside/permits.ts";
import { type Edges, endingAtInterrupt } from "../../../run/edges.ts";
import { type Account, accountKey, inOne, marketOf } from "../../../accounts/account.ts";
import type { CalledAccount } from "../../../collect/accountDispatchers.ts";
import { createDisplay, type Display } from "../display.ts";
import { type Finished, printReport } from "../report.ts";
import { announce, forecast } from "./forecast.ts";
import {
  lastPrices,
  planOf,
  quotesIn,
  roomOf,
  takeJournaled,
  readAsk,
  serviceOf,
  type SweepRequest,
  nameOf,
} from "./planning.ts";
import { openStore, type Settled } from "./sweepStore.ts";
import { say } from "../../terminal/harmless.ts";
import { instantFromDate } from "../../../clock.ts";
import { PROCESSES } from "../../../processes.ts";
import { counted, thousands } from "../../../figures.ts";

type Work = {
  accounts: readonly Account[];
  request: SweepRequest;
  ask: SweepAsk;
  run: SweepRun;
  display: Display;
  /** Ends it in its midst. */
  signal: AbortSignal;
};

/** @throws Interrupted after Ctrl-C; QuotekeeperError of the service, the journal or the data directory */
async function runSweep(
  config: Config,
  edges: Edges,
  work: Work,
): Promise<{ finished: Finished; exitCode: number }> {
  const { clock } = edges;
  const { ask, accounts, request, display, signal } = work;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const stations = await openStations(config, {
      clock,
      bootId: edges.bootId,
      upkeep: false,
      tell: (level, message) => display.log[level]({}, message),
    });
    closers.unshift(stations.close);
    const { dir } = stations;
    const open: AccountStations[] = [];
    for (const account of accounts) {
      const one = await stations.open(account);
      closers.unshift(one.feed.close);
      open.push(one);
    }
    const { simulated } = marketOf(accounts);
    const plan = await planOf(config, ask, { ...request, begunAt: work.run.begunAt, now: clock.now() });
    const earlier = await takeJournaled(dir, work.run, plan);
    // One that was ended before its first answer has left nothing to go on with.
    const run = { ...work.run, resumed: earlier.calls > 0 };
    const store = await openStore(config, edges, { run, display, asked: askedOf(config, work) });
    closers.unshift(() => store.close());
    const room = await roomOf(config, clock, (symbols) => lastPrices(store.archive, symbols));
    announce(edges, config, { plan, run, room, simulated });
    const asking = { by: "sweep", clock, self: await thisProcess() } as const;
    const borrowOf =
      (account: string): CalledAccount["borrow"] =>
      (ending) =>
        askForCall(resolve(config.dataDir), { ...asking, account, signal: ending });
    await poll(edges, {
      ...work,
      run,
      plan,
      earlier,
      room,
      called: open.map((one) => ({
        budget: {
          ...one.budget,
          governor: { ...one.budget.governor, evenly: !simulated },
          // Each process has a simulated service of its own.
          ...(!simulated && { borrow: borrowOf(accountKey(one.account)) }),
        },
        path: { ...stations, ...one, loader: store.loader },
      })),
    });
    const settled = await store.settle(isOver(plan));
    signal.throwIfAborted();
    return await conclude(config, { plan, run, settled });
  } finally {
    for (const close of closers) await close().catch(() => undefined);
  }
}

type Polled = Work & {
  plan: SweepPlan;
  /** What the runs before this one made. */
  earlier: { calls: number; quotes: number };
  room: Room;
  /** Each account's budget, and the way of its calls. */
  called: readonly { budget: Omit<SweepOptions["accounts"][number], "send">; path: CallPath }[];
};

async function poll({ clock, stderr }: Edges, polled: Polled): Promise<void> {
  const { plan, run, display, signal, earlier, room, called } = polled;
  let { quotes } = earlier;
  try {
    await sweep({
      plan,
      run,
      signal,
      collector: { clock, log: display.log },
      accounts: called.map(({ budget, path }) => ({
        ...budget,
        send: async (planned, ending, onArrived) => {
          const collected = await collectCall(planned, path, { signal: ending, onArrived });
          quotes += quotesIn(collected.answer);
          return collected;
        },
      })),
      onProgress: ({ made: callCount, left, doing }) => {
        const leftMs = room.timeFor(left, clock.now());
        const done = earlier.calls + callCount;
        display.progress({
          done,
          total: done + left,
          doing,
          unit: "calls",
          quotes,
          ...(leftMs !== null && { leftMs: Math.round(leftMs) }),
        });
      },
    });
  } catch (error) {
    display.end();
    say(
      stderr,
      `${counted(plan.size - plan.left.length, "instrument")} of ${thousands(plan.size)} are polled and kept; the same command goes on with the rest.`,
    );
    throw error;
  }
}

/** As the database remembers it. */
function askedOf(config: Config, { ask, request, run }: Work): { kind: "sweep"; [detail: string]: unknown } {
  const { delayed, chains } = request;
  return {
    kind: "sweep",
    name: run.name,
    service: serviceOf(config),
    delayed,
    symbols: ask.symbols.length,
    contracts: ask.contracts.length,
    chains,
  };
}

function isOver(plan: SweepPlan): boolean {
  return plan.left.length === 0 && plan.waiting.length === 0;
}

/**
 * Ends the run when all is polled and loaded; otherwise the next one goes on.
 *
 * @returns the report, and 0 when every instrument was stored, 1 otherwise
 */
async function conclude(
  { dataDir }: Pick<Config, "dataDir">,
  { plan, run, settled }: { plan: SweepPlan; run: SweepRun; settled: Settled },
): Promise<{ finished: Finished; exitCode: number }> {
  const { report, waiting, problem } = settled;
  const loaded = problem === null && waiting === 0;
  if (isOver(plan) && loaded) await closeRun(resolve(dataDir), run);
  const stored = plan.namesOf("stored").length;
  const without = plan.size - stored;
  const remarks = [
    `Swept     ${counted(plan.size, "instrument")}: ${thousands(stored)} with a quote, ${thousands(without)} without`,
    ...fateLines(plan),
    ...leftLine(plan),
    ...(loaded ? [] : [notLoaded(waiting, problem)]),
  ];
  const whole = loaded && isOver(plan) && without === 0 && plan.problems.length === 0;
  return {
    finished: { kind: "sweep", dryRun: false, resumed: run.resumed, report, remarks },
    exitCode: whole && report.deadLetters.length === 0 ? 0 : 1,
  };
}

function notLoaded(waiting: number, problem: string | null): string {
  const why = problem === null ? "" : ` ${problem}`;
  return `Not loaded: ${counted(waiting, "answer")} of the sweep in the journal.${why} Whatever loads the journal next stores them, as \`quotekeeper start\` does, or this command.`;
}

/** @returns 0 when every instrument was stored, 1 otherwise */
export async function backfillSweep(settings: Config, edges: Edges, request: SweepRequest): Promise<number> {
  const accounts = await accountsToCall(settings, request.account);
  // Whoever counts calls counts those of all accounts together.
  const config = { ...settings, ...inOne(accounts) };
  const ask = await readAsk(edges, request);
  const name = nameOf(config, ask, request);
  if (request.dryRun) return forecast(config, edges, { ask, name, request });
  const display = createDisplay(config, edges, "sweeping");
  try {
    const now = instantFromDate(edges.clock.now());
    const options = { now, restart: request.restart, processes: PROCESSES };
    const run = await openRun(resolve(config.dataDir), name, options);
    const { finished, exitCode } = await endingAtInterrupt(edges, (signal) =>
      runSweep(config, edges, { accounts, request, ask, run, display, signal }),
    );
    display.end();
    printReport(edges, finished, request.json);
    return exitCode;
  } catch (error) {
    display.end();
    throw error;
  }
}
