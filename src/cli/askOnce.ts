/**
 * Has a job polled once, and follows it: by the collector of the data directory, or, where none runs, by one of this command's own,
 * which leaves the rest to a collector that is started meanwhile.
 */
import { resolve } from "node:path";
import { type Account, accountKey } from "../accounts/account.ts";
import type { LoadReport } from "../archive/load/batch.ts";
import { loadAll } from "../archive/load/loader.ts";
import { migrate } from "../archive/schema/migrations.ts";
import { type Clock, instantFromDate } from "../ground/clock.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { onceName } from "../journal/ledger.ts";
import type { Log } from "../ground/log.ts";
import type { Archive } from "../archive/openArchive.ts";
import {
  ASKING,
  type DataDirLock,
  findCollector,
  lockDataDir,
  thisProcess,
} from "../collector/beside/lock.ts";
import { inSeconds } from "../market/durations.ts";
import type { Edges } from "../ground/edges.ts";
import { type OnceAnswer, OnceJournal } from "../collector/once/onceJournal.ts";
import {
  endOnce,
  goOnOnce,
  isAsked,
  leaveOnce,
  listOnce,
  type OnceFile,
  putOnce,
} from "../collector/once/onceFiles.ts";
import { pollHere } from "../collector/once/pollHere.ts";
import { WORDLESS_MS } from "../collector/once/takeOnce.ts";
import { journalDir } from "../journal/dataDir.ts";
import type { OnceJob } from "../schedule/onceJob.ts";
import { readCalendarDays } from "../schedule/readJobs.ts";
import { say } from "./terminal/harmless.ts";

/** How often the journal is looked at, in ms. */
const LOOK_EVERY_MS = 200;

/** How long a command waits for a collector that has just ended, in ms. When it is back, its jobs would lack the calls made here. */
const RETURN_MS = 30_000;

/** Of a command that reads in the journal what went wrong. */
export const NO_LOG: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

type AskOnceOptions = {
  job: OnceJob;
  log: Log;
  /** Begins anew what was left by an earlier command. */
  restart?: boolean;
  onAnswer: (answer: OnceAnswer) => void;
  /** Called each time the journal was looked at. */
  onLook?: (seen: OnceJournal) => void;
  signal: AbortSignal;
};

/** The job of a command: for the accounts that it names, by their names and keys. */
export function onceJob(
  accounts: readonly Account[],
  asked: Partial<OnceJob> & Pick<OnceJob, "name">,
): OnceJob {
  return {
    once: true,
    delayed: false,
    priority: 1000,
    single: true,
    symbols: [],
    watchlist: null,
    contracts: [],
    chains: [],
    accounts: accounts.map((account) => ({ name: account.name, key: accountKey(account) })),
    ...asked,
  };
}

/**
 * Resolves when the job is over: nothing of it is left, or nothing more comes of it.
 *
 * @returns what the journal has of it; `resumed`: an earlier command had begun it
 * @throws QuotekeeperError why nobody takes it; the signal's reason, when the job has been taken back
 */
export async function askOnce(
  config: Config,
  edges: Edges,
  { job, log, restart, onAnswer, onLook = () => undefined, signal }: AskOnceOptions,
): Promise<{ found: OnceJournal; resumed: boolean }> {
  const dataDir = resolve(config.dataDir);
  const { clock } = edges;
  const { file, resumed } = await begin(dataDir, clock, { job, restart });
  const slot = { job: onceName(job), slotAt: file.slotAt };
  const found = new OnceJournal(journalDir(config), slot, onAnswer);
  const look = async (): Promise<void> => {
    await found.read();
    for (const why of found.waits.splice(0)) say(edges.stderr, `Waiting: ${why}.`);
    onLook(found);
  };
  try {
    await untilOver(config, edges, { file, log, look, signal });
  } catch (error) {
    if (await isAsked(file)) await (job.single ? endOnce(file) : leaveOnce(file));
    throw error;
  }
  await look();
  if (found.refused) throw found.refused;
  return { found, resumed };
}

/** Goes on with the same job where there is one that many calls are made for, or puts it there. */
async function begin(
  dataDir: string,
  clock: Clock,
  { job, restart = false }: Pick<AskOnceOptions, "job" | "restart">,
): Promise<{ file: OnceFile; resumed: boolean }> {
  if (job.single) return { file: await putOnce(dataDir, job, clock), resumed: false };
  const isSame = (other: OnceFile): boolean => other.job.name === job.name;
  const asked = (await listOnce(dataDir, "json")).find(isSame);
  if (asked && !restart) return { file: asked, resumed: true };
  const left = (await listOnce(dataDir, "left")).filter(isSame);
  const [latest] = left.slice(-1);
  if (latest && !restart) return { file: await goOnOnce(latest), resumed: true };
  for (const old of [...left, ...(asked ? [asked] : [])]) await endOnce(old);
  return { file: await putOnce(dataDir, job, clock), resumed: false };
}

type FollowOptions = { file: OnceFile; log: Log; look: () => Promise<void>; signal: AbortSignal };

async function untilOver(config: Config, edges: Edges, following: FollowOptions): Promise<void> {
  const dataDir = resolve(config.dataDir);
  const { file, log, look, signal } = following;
  const { clock, stderr } = edges;
  const self = await thisProcess();
  const begunMs = clock.monotonicMs();
  let told = false;
  let collectedMs = -Infinity;
  let waits = false;
  while (await isAsked(file)) {
    signal.throwIfAborted();
    const holder = await findCollector(dataDir, { clock, self });
    if (holder && !holder.once && !file.job.single) collectedMs = clock.monotonicMs();
    const waited = waits;
    waits = !holder && clock.monotonicMs() - collectedMs < RETURN_MS;
    if (waits && !waited)
      say(
        stderr,
        `The collector has ended. In ${inSeconds(RETURN_MS)} without one this command makes the calls.`,
      );
    const lock =
      holder || waits
        ? null
        : await acquire(dataDir, { clock, self, warn: (message) => say(stderr, message) });
    if (lock)
      await pollHere(config, {
        clock,
        bootId: edges.bootId,
        job: file.job,
        log,
        look,
        signal,
        lock,
        say: (line) => say(stderr, line),
      }).finally(() => lock.release());
    else {
      await look();
      if (!told && holder && clock.monotonicMs() - begunMs > WORDLESS_MS) {
        told = true;
        say(
          stderr,
          `Process ${holder.pid} ${holder.once ? "polls" : "collects"} here, and makes the calls as its budget and its jobs leave room: waiting for it.`,
        );
      }
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}

/** Null: somebody else has it. */
async function acquire(
  dataDir: string,
  options: Parameters<typeof lockDataDir>[1],
): Promise<DataDirLock | null> {
  try {
    return await lockDataDir(dataDir, { ...options, work: ASKING });
  } catch (error) {
    if (error instanceof QuotekeeperError && error.code === "COLLECTOR_RUNNING") return null;
    throw error;
  }
}

/** Loads all of the journal: what an earlier command left there while the database was away, too. */
export async function loadJournal(
  config: Config,
  { clock, stderr }: Pick<Edges, "clock" | "stderr">,
  pool: Archive["pool"],
): Promise<LoadReport> {
  await migrate(pool, instantFromDate(clock.now()), {
    calendar: await readCalendarDays(resolve(config.jobsDir)),
  });
  return loadAll({
    pool,
    journalDir: journalDir(config),
    clock,
    onDamage: ({ segment, offset, unreadable }) =>
      say(stderr, unreadable ?? `damaged bytes in the journal were passed over: ${segment} at ${offset}`),
  });
}
