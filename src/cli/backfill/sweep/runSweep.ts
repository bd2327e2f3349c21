/** Opens the stations of a sweep one after the other, sweeps, loads, and closes them in reverse order. */
import { resolve } from "node:path";
import type { SweepAsk } from "../../../backfill/sweep/ask.ts";
import type { SweepPlan } from "../../../backfill/sweep/plan.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import { OtherCollectors } from "../../../backfill/sweep/otherCollectors.ts";
import { sweep, type SweepOptions } from "../../../backfill/sweep/sweep.ts";
import { counted } from "../../../backfill/sweep/words.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { uuidv7 } from "../../../journal/uuid.ts";
import { openJournal } from "../../../journal/writer.ts";
import { collectCall, type Stations } from "../../../run/pipeline.ts";
import type { CallLog } from "../../../collect/callLog.ts";
import { thisProcess } from "../../../run/beside/lock.ts";
import { askForCall, type Permit, withPermit } from "../../../run/beside/permits.ts";
import type { Edges } from "../../../run/edges.ts";
import { journalDir } from "../../../run/collection.ts";
import { accountOf, openFeed } from "../../../run/feed.ts";
import type { Display } from "../display.ts";
import type { Finished } from "../report.ts";
import { governorOf, openCalls } from "../../../run/callHistory.ts";
import { serviceOf } from "./account.ts";
import { conclude, isOver } from "./conclude.ts";
import { announce } from "./overview.ts";
import { planOf, quotesIn, takeJournaled } from "./planning.ts";
import type { SweepRequest } from "./readAsk.ts";
import { readSchedule, schedulePrices } from "./schedule.ts";
import { openStore } from "./store.ts";
import { say } from "../../terminal/harmless.ts";

/** A sweep that is to be done. */
export type Work = {
  request: SweepRequest;
  ask: SweepAsk;
  run: SweepRun;
  display: Display;
  /** Ends it in its midst. */
  signal: AbortSignal;
};

/** @throws Interrupted after Ctrl-C; QuotekeeperError of the service, the journal or the data directory */
export async function runSweep(
  config: Config,
  edges: Edges,
  work: Work,
): Promise<{ finished: Finished; exitCode: number }> {
  const { clock } = edges;
  const { ask, request, display, signal } = work;
  const { delayed } = request;
  const dir = journalDir(config);
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const journal = await openJournal({
      ...{ dir, clock, readers: config.journalReaders, maxTotalBytes: config.journalMaxBytes },
      upkeep: false,
      onProblem: ({ message }) => display.log.error({}, message),
    });
    closers.unshift(() => journal.close());
    const feed = await openFeed(config, clock);
    closers.unshift(() => feed.close());
    const plan = await planOf(config, ask, request, { begunAt: work.run.begunAt, now: clock.now() });
    const earlier = await takeJournaled(dir, work.run, plan);
    // One that was ended before its first answer has left nothing to go on with.
    const run = { ...work.run, resumed: earlier.calls > 0 };
    const store = await openStore(config, edges, { run, display, asked: askedOf(config, work) });
    closers.unshift(() => store.close());
    const own = new Set<string>();
    const calls = await openCalls(config, {
      ...{ journalDir: dir, clock, bootId: edges.bootId },
      onProblem: (message) => display.log.warn({}, message),
    });
    const otherCollectors = await OtherCollectors.open({
      ...{ clock, journalDir: dir, governor: governorOf(config), alone: feed.simulated },
      history: calls.history,
      readJobs: () => readSchedule(config),
      prices: await schedulePrices(config, store.archive),
      isOwn: (requestId) => own.has(requestId),
    });
    announce(edges, config, { plan, run, otherCollectors, simulated: feed.simulated, delayed });
    const stations = {
      ...{ fetchQuotes: feed.fetchQuotes, journal, loader: store.loader, sourceOf: feed.sourceOf },
      calls: calls.log,
      requestId: () => {
        const requestId = uuidv7(clock.now().getTime(), clock.random(16));
        own.add(requestId);
        return requestId;
      },
    };
    const asking = { by: "sweep", account: accountOf(config), clock, self: await thisProcess() } as const;
    const permitOf = async (ending: AbortSignal): Promise<Permit | null> =>
      feed.simulated ? null : askForCall(resolve(config.dataDir), { ...asking, signal: ending });
    await poll(edges, { ...work, run, plan, earlier, otherCollectors, stations, permitOf });
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
  otherCollectors: OtherCollectors;
  stations: Stations & { calls: CallLog };
  /** Asks a collector that runs beside for a call. */
  permitOf: (signal: AbortSignal) => Promise<Permit | null>;
};

/** Makes the calls, and shows how it goes. */
async function poll({ clock, stderr }: Edges, polled: Polled): Promise<void> {
  const { plan, run, request, display, signal, earlier, otherCollectors, stations, permitOf } = polled;
  let { quotes } = earlier;
  const collect: SweepOptions["collect"] = async (call, ending, onArrived) => {
    const planned = { call, jobs: [run.name], slotAt: run.begunAt };
    const collected = await withPermit(await permitOf(ending), onArrived, (told) =>
      collectCall(planned, stations, { signal: ending, onArrived: told }),
    );
    quotes += quotesIn(collected.answer);
    return collected;
  };
  try {
    await sweep({
      ...{ plan, delayed: request.delayed, budget: otherCollectors.budget, clock, log: display.log, signal },
      ...{ collect, look: () => otherCollectors.look(), onClosed: stations.calls.closed },
      onProgress: ({ made, left, doing }) => {
        const leftMs = otherCollectors.timeFor(left);
        const done = earlier.calls + made;
        display.progress({
          ...{ done, total: done + left, doing, unit: "calls", quotes },
          ...(leftMs !== null && { leftMs: Math.round(leftMs) }),
        });
      },
    });
  } catch (error) {
    display.end();
    say(
      stderr,
      `${counted(plan.size - plan.left.length, "instrument")} of ${plan.size.toLocaleString("en-US")} are polled and kept; the same command goes on with the rest.`,
    );
    throw error;
  }
}

/** As the database remembers it. */
function askedOf(config: Config, { ask, request, run }: Work): { kind: "sweep"; [detail: string]: unknown } {
  const { delayed, chains } = request;
  return {
    ...{ kind: "sweep", name: run.name, service: serviceOf(config), delayed },
    ...{ symbols: ask.symbols.length, contracts: ask.contracts.length, chains },
  };
}
