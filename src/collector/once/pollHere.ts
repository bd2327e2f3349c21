/** Polls what is to be polled once, without a schedule: for a command, while no collector runs. */
import { resolve } from "node:path";
import type { Account } from "../../accounts/account.ts";
import { requireAccounts } from "../../accounts/accountsFile.ts";
import { Shares } from "../../accounts/shares.ts";
import { type CalledAccount, sharerOf } from "../../collect/accountDispatchers.ts";
import { CONCURRENCY } from "../../collect/dispatcher.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { LedgerNote } from "../../journal/ledger.ts";
import type { Log } from "../../ground/log.ts";
import { type Calendar, alwaysOpen, createCalendar } from "../../market/calendar/tradingCalendar.ts";
import type { OnceJob } from "../../schedule/onceJob.ts";
import { readCalendarDays } from "../../schedule/readJobs.ts";
import type { DataDirLock } from "../beside/lock.ts";
import type { Edges } from "../../ground/edges.ts";
import { createNoteWriter } from "../../ledger/ledgerNotes.ts";
import { calledAccount } from "../accountsCalled.ts";
import { Collector } from "../collector.ts";
import { type AccountStations, openStations, type Stations } from "../stations.ts";
import { TakenOnce, WORDLESS_MS } from "./takeOnce.ts";

const LOOK_EVERY_MS = 500;

const GRACE_MS = 1_500;

type Here = {
  clock: Edges["clock"];
  bootId: Edges["bootId"];
  say: (line: string) => void;
  job: OnceJob;
  log: Log;
  look: () => Promise<void>;
  signal: AbortSignal;
  lock: DataDirLock;
};

/** Polls all jobs of `once/`, those of other commands too, until nothing is left, the signal comes, or a collector wants the lock. */
export async function pollHere(config: Config, here: Here): Promise<void> {
  const { clock, bootId, say, look, signal, lock } = here;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const stations = await openStations(config, {
      ...{ clock, bootId, upkeep: false },
      tell: (_level, message) => say(message),
    });
    closers.unshift(stations.close);
    const open: AccountStations[] = [];
    for (const account of await requireAccounts(resolve(config.jobsDir), config)) {
      const one = await stations.open(account);
      closers.unshift(one.feed.close);
      open.push(one);
    }
    const exchange = createCalendar((await readCalendarDays(resolve(config.jobsDir))) ?? []);
    const { once, close } = collectOnce(config, here, { stations, open, exchange });
    closers.unshift(close);
    await untilDone(once.idle(), { wanted: lock.wanted, look, signal });
  } finally {
    for (const close of closers) await close();
  }
}

type OpenedStations = { stations: Stations; open: readonly AccountStations[]; exchange: Calendar };

function collectOnce(
  config: Config,
  { clock, say, job, log, lock }: Here,
  { stations, open, exchange }: OpenedStations,
): { once: TakenOnce; close: () => Promise<void> } {
  const { dir: journalDir, journal } = stations;
  const feedOf = (name: string | undefined) =>
    (open.find(({ account }) => account.name === name) ?? open[0])?.feed;
  const notes = createNoteWriter(journal, {
    clock,
    source: (account) => feedOf(account)?.ledgerSource() ?? "account",
    onKept: () => undefined,
    onLost: (count) => log.error({ count }, "entries of the ledger were lost: the journal cannot be written"),
  });
  const noted = { of: (_note: LedgerNote): void => undefined };
  const begunMs = clock.monotonicMs();
  const called = open.map((one): CalledAccount => {
    const account = calledAccount(one, {
      ...{ clock, stations, loader: { notify: () => undefined }, metered: (send) => send },
      lease: { confirm: () => Promise.resolve(lock.isHeld) },
    });
    if (job.single) return { ...account, onHeld: onHeld(one.account, { clock, say }) };
    if (one.feed.simulated) return account;
    return {
      ...account,
      governor: { ...account.governor, evenly: true },
      atOnce: () => atOnce(collector, account, clock.monotonicMs() - begunMs),
    };
  });
  const { batch } = config.service;
  const collector: Collector = new Collector({
    ...{ accounts: called, batch, run: stations.requestId(), earlier: null },
    shares: new Shares(called.map(sharerOf), undefined, batch.first),
    ...{ jobs: [], calendar: alwaysOpen, exchange, clock, log },
    onNote: (note) => {
      notes.write(note);
      noted.of(note);
    },
  });
  const once = new TakenOnce({
    ...{ dataDir: resolve(config.dataDir), journalDir, journal, calls: collector.once, notes, clock, log },
    accounts: () => open,
    batchSize: batch.first,
  });
  noted.of = (note) => once.noted(note);
  const close = async (): Promise<void> => {
    await once.close();
    await collector.close(GRACE_MS);
    await notes.flush();
  };
  return { once, close };
}

async function untilDone(
  idle: Promise<void>,
  { wanted, look, signal }: Pick<Here, "look" | "signal"> & { wanted: Promise<void> },
): Promise<void> {
  const looking = setInterval(() => void look().catch(() => undefined), LOOK_EVERY_MS);
  let end: () => void = () => undefined;
  const aborted = new Promise<void>((resolveEnd) => (end = resolveEnd));
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  await Promise.race([idle, wanted, aborted]).finally(() => {
    clearInterval(looking);
    signal.removeEventListener("abort", end);
  });
}

/**
 * Beside a program that shows in the service's count alone calls go one by one, as long as it is seen and for a window at first: of
 * several, nobody could say which the count holds already.
 */
function atOnce(
  collector: Collector,
  { name, governor: { windowMs } }: Pick<CalledAccount, "name" | "governor">,
  elapsedMs: number,
): number {
  const own = collector.status().accounts.find((account) => account.name === name);
  return elapsedMs >= windowMs && own?.budget.secondClientCount === 0 ? CONCURRENCY : 1;
}

function onHeld({ limitWindowMs }: Account, { clock, say }: Pick<Here, "clock" | "say">) {
  let untilMs = -Infinity;
  return (forMs: number): void => {
    const nowMs = clock.monotonicMs();
    const isTold = nowMs < untilMs;
    untilMs = Math.max(untilMs, nowMs + forMs);
    if (forMs <= WORDLESS_MS || isTold) return;
    const calls = limitWindowMs === 60_000 ? "of this minute" : "of the limit";
    say(`The calls ${calls} are used up; waiting ${Math.ceil(forMs / 1000)} s.`);
  };
}
