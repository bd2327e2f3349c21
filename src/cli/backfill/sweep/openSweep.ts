/**
 * Opens what a sweep works with, or what its forecast looks at, from the configuration: nothing behind these two functions
 * reads the configuration.
 */
import { resolve } from "node:path";
import { type Account, accountKey, marketOf, onlyDelayed } from "../../../accounts/account.ts";
import type { Asked } from "../../../archive/refill/runs.ts";
import type { SweepAsk } from "../../../backfill/sweep/ask.ts";
import { allRoom, type Room, roomBeside } from "../../../backfill/sweep/room.ts";
import { findRun, openRun, type SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { SweepOptions } from "../../../backfill/sweep/sweep.ts";
import { SweepPlan } from "../../../backfill/sweep/sweepPlan.ts";
import { type Clock, dateOf, instantFromDate } from "../../../clock.ts";
import type { CalledAccount } from "../../../collect/accountDispatchers.ts";
import { underlyingsOf } from "../../../collect/chainBook.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { createCalendar } from "../../../market/calendar/tradingCalendar.ts";
import { contractDate } from "../../../market/expirations.ts";
import { PROCESSES } from "../../../processes.ts";
import { type Archive, archiveExists, openArchive } from "../../../run/archive.ts";
import { thisProcess, talkToCollector } from "../../../run/beside/lock.ts";
import { askForCall } from "../../../run/beside/permits.ts";
import { governorOf } from "../../../run/callHistory.ts";
import type { Edges } from "../../../run/edges.ts";
import type { CallPath } from "../../../run/pipeline.ts";
import { type AccountStations, journalDir, openStations } from "../../../run/stations.ts";
import type { Batch } from "../../../services/service.ts";
import { type JobsReport, readJobs } from "../../../schedule/readJobs.ts";
import type { Display } from "../display.ts";
import { knownOfChains, takeJournaled } from "./planning.ts";
import type { Wanted } from "./sweepRequest.ts";
import { openStore, type Store } from "./sweepStore.ts";

export type Outlook = {
  plan: SweepPlan;
  /** The unfinished run that the sweep goes on with; null: it begins. */
  run: SweepRun | null;
  room: Room;
  batch: Batch;
  now: Date;
  /** Underlyings whose chains are expanded by what the archive knows. */
  guessed: readonly string[];
};

/** What a sweep would do now. Sends nothing and keeps nothing. */
export async function lookAhead(
  config: Config,
  clock: Clock,
  { name, ask, request }: Wanted,
): Promise<Outlook> {
  const run = request.restart ? null : await findRun(resolve(config.dataDir), name);
  const now = clock.now();
  const schedule = await readSchedule(config);
  const plan = planOf(schedule, ask, {
    market: config,
    delayed: request.delayed,
    begun: run ? dateOf(run.begunAt) : now,
    now,
  });
  if (run) await takeJournaled(journalDir(config), run, plan);
  const archive = (await archiveExists(config)) ? await openArchive(config, clock).catch(() => null) : null;
  const room = await roomOf(config, clock, { schedule, archive });
  const { waiting } = plan;
  const known = await knownOfChains(archive, waiting, now);
  await archive?.close().catch(() => undefined);
  plan.know(known);
  const guessed = underlyingsOf(waiting.filter((chain) => !plan.waiting.includes(chain)));
  return { plan, run, room, batch: config.service.batch, now, guessed };
}

export type OpenSweep = {
  plan: SweepPlan;
  run: SweepRun;
  /** What the runs before this one made. */
  earlier: { calls: number; quotes: number };
  room: Room;
  batch: Batch;
  simulated: boolean;
  /** Each account's budget, and the way of its calls. */
  called: readonly { budget: Omit<SweepOptions["accounts"][number], "send">; path: CallPath }[];
  store: Store;
  close: () => Promise<void>;
};

/**
 * Goes on with the run that was not finished, or begins one, and opens its stations one after the other.
 *
 * @throws QuotekeeperError BACKFILL_OVERTAKEN while another process sweeps the same; what keeps a station from being opened
 */
export async function openSweep(
  config: Config,
  { clock, bootId }: Pick<Edges, "clock" | "bootId">,
  { accounts, wanted, display }: { accounts: readonly Account[]; wanted: Wanted; display: Display },
): Promise<OpenSweep> {
  const { name, ask, request } = wanted;
  const dataDir = resolve(config.dataDir);
  const begun = await openRun(dataDir, name, {
    now: instantFromDate(clock.now()),
    restart: request.restart,
    processes: PROCESSES,
  });
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of closers) await closeOne().catch(() => undefined);
  };
  try {
    const stations = await openStations(config, {
      clock,
      bootId,
      upkeep: false,
      tell: (level, message) => display.log[level]({}, message),
    });
    closers.unshift(stations.close);
    const open: AccountStations[] = [];
    for (const account of accounts) {
      const one = await stations.open(account);
      closers.unshift(one.feed.close);
      one.feed.session?.credentials(); // it would wait for a login without an end
      open.push(one);
    }
    const schedule = await readSchedule(config);
    const plan = planOf(schedule, ask, {
      market: config,
      delayed: request.delayed,
      begun: dateOf(begun.begunAt),
      now: clock.now(),
    });
    const earlier = await takeJournaled(stations.dir, begun, plan);
    // One that was ended before its first answer has left nothing to go on with.
    const run = { ...begun, resumed: earlier.calls > 0 };
    const store = await openStore(config, clock, { run, display, asked: asAsked(wanted) });
    closers.unshift(() => store.close());
    const room = await roomOf(config, clock, { schedule, archive: store.archive });
    const { simulated } = marketOf(accounts);
    const borrowOf = simulated ? null : await borrower(dataDir, clock);
    const called = open.map((one) => ({
      budget: {
        ...one.budget,
        governor: { ...one.budget.governor, evenly: !simulated },
        ...(borrowOf && { borrow: borrowOf(one.account) }),
      },
      path: { ...stations, ...one, loader: store.loader },
    }));
    return { plan, run, earlier, room, batch: config.service.batch, simulated, called, store, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The sweep as the database remembers it. */
function asAsked({ name, service, ask, request }: Wanted): Asked & { kind: "sweep" } {
  return {
    kind: "sweep",
    name,
    service,
    delayed: request.delayed,
    symbols: ask.symbols.length,
    contracts: ask.contracts.length,
    chains: request.chains,
  };
}

/** Asks the collector of a data directory for each call of an account. */
async function borrower(
  dataDir: string,
  clock: Clock,
): Promise<(account: Account) => CalledAccount["borrow"]> {
  const asking = { by: "sweep", clock, self: await thisProcess() } as const;
  return (account) => (signal) => askForCall(dataDir, { ...asking, account: accountKey(account), signal });
}

type Schedule = Pick<JobsReport, "jobs" | "calendar">;

/** The job files that can be read, and the operator's calendar; none where there is no directory of them. */
async function readSchedule({ jobsDir }: Pick<Config, "jobsDir">): Promise<Schedule> {
  return readJobs(resolve(jobsDir)).catch(() => ({ jobs: [], calendar: [] }));
}

/** The plan of a sweep that began then, before any answer. */
function planOf(
  schedule: Schedule,
  ask: SweepAsk,
  {
    market,
    delayed,
    begun,
    now,
  }: { market: Pick<Account, "service" | "feed">; delayed: boolean; begun: Date; now: Date },
): SweepPlan {
  const calendar = createCalendar(schedule.calendar);
  return new SweepPlan(ask, onlyDelayed(market) ?? delayed, {
    ...(market.service.optionsInList && { optionsInList: true }),
    begun: contractDate(begun, calendar),
    today: contractDate(now, calendar),
    calendar,
  });
}

/** The room that a sweep has now. Nobody else calls on a simulated service: it lives in the process. */
async function roomOf(
  config: Config,
  clock: Clock,
  { schedule, archive }: { schedule: Schedule; archive: Pick<Archive, "pool"> | null },
): Promise<Room> {
  const governor = governorOf(config);
  if (config.feed.kind === "simulated" || !(await isCollecting(config, clock))) return allRoom(governor);
  const now = clock.now();
  const chains = schedule.jobs.flatMap((job) => job.chains);
  const known = await knownOfChains(archive, chains, now);
  return roomBeside(governor, schedule, { known, batchSize: config.service.batch.first, now });
}

async function isCollecting({ dataDir }: Pick<Config, "dataDir">, clock: Clock): Promise<boolean> {
  const talk = await talkToCollector(resolve(dataDir), { clock, self: await thisProcess() });
  talk?.end();
  return talk !== null;
}
