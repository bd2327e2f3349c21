/**
 * One collector to a data directory, and one service. The lock is a socket that its holder listens on: the system closes it with the
 * process, however that ends, and whoever meets it can ask who holds it.
 *
 * A socket is made under another name and gets its own once somebody listens on it, so one that refuses connections is a
 * dead process's. Then its owner asks all the others:
 *
 * - contending -> holding: nobody holds, nobody of a smaller name contends, and all others have been told to wait;
 * - contending -> refused: somebody holds, or does not answer for long.
 *
 * Two cannot hold: of two, whoever's socket came later has asked the other. A holder says that it holds; a contender waits
 * for one of a smaller name, and one that was asked by a smaller name first looks around again before it takes the lock.
 * Only the holder deletes dead runs' sockets, and only after it has settled their work: if it is killed first, the next holder must
 * still see them.
 */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile, realpath, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { socketDir } from "../../archive/embedded/socketDir.ts";
import { cachesOf } from "../../archive/embedded/reachable.ts";
import { type Clock } from "../../ground/clock.ts";
import { QuotekeeperError, systemError } from "../../ground/errors.ts";
import { ensureDataDir, unwritable } from "../../journal/dataDir.ts";
import { errnoOf } from "../../journal/fs.ts";
import { type Answer, ask, Door, goesFirst, type ThisProcess, shortened } from "./lockDoor.ts";
import {
  alreadyRunning,
  isOnceFile,
  type LockedWork,
  mayRunElsewhere,
  NAME,
  notAnswering,
  standsStill,
} from "./lockWords.ts";

export type DataDirLock = {
  /** This run's name among those who want the lock: 16 hexadecimal digits by chance. */
  id: string;
  /** The names of runs on this data directory that are surely dead. */
  dead: readonly string[];
  /** Removes what they have left, so that no later run knows of them; never rejects. */
  forgetDead: () => Promise<void>;
  /** Resolves when a collector wants the lock of a command that polls once. */
  wanted: Promise<void>;
  /** Whether nobody has taken it meanwhile, which a collector does of a command that does not answer. Asked before each call. */
  isHeld: () => boolean;
  /** Releases it. @param options.asDead leaves the socket behind, so that the next holder knows this run to be over */
  release: (options?: { asDead?: boolean }) => Promise<void>;
};

const COLLECTING: LockedWork = {
  dir: "collector",
  code: "COLLECTOR_RUNNING",
  who: "collector",
  done: "collected",
};

/** The same lock, for a command that polls once while no collector runs. */
export const ASKING: LockedWork = { ...COLLECTING, once: true };

export const SERVING: LockedWork = {
  dir: join("serve", "running"),
  code: "SERVE_RUNNING",
  who: "service",
  done: "served from",
};

const LONGEST_NAME = `/new-once-${"0".repeat(10 + 1 + 16 + 1 + 8 + 1 + 16)}`;

/** How long one that does not answer holds up whoever wants the lock, in ms. */
const PATIENCE_MS = 10_000;

/** How often a holder looks whether its socket is still there, in ms: its directory may be removed while it runs. */
const LOOK_EVERY_MS = 5_000;

/** The wait between two looks around while somebody else is deciding, in ms. */
const AGAIN_MS = 50;

/** What the system says where no socket can be: on some network disks, and directories that a virtual machine shares. */
const NO_SOCKETS = ["ENOTSUP", "EOPNOTSUPP", "EPERM", "EINVAL", "ENOSYS", "EADDRNOTAVAIL", "ENAMETOOLONG"];

/**
 * What was found out about a socket: somebody's answer, or none. It is `elsewhere` when it refuses us and may be another
 * kernel's: nobody can tell from here whether somebody listens on it.
 */
type Neighbour = { file: string; answer: Answer | "dead" | "elsewhere" | "gone" | "mute" };

export async function thisProcess(): Promise<ThisProcess> {
  const host = hostname();
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => null);
  const kernel = createHash("sha256")
    .update(boot ?? host)
    .digest("hex")
    .slice(0, 8);
  return { pid: process.pid, host, kernel };
}

type Options = { clock: Clock; self: ThisProcess; work?: LockedWork };

/**
 * Acquires the lock of a data directory, which is made if it is not there.
 *
 * @param given.lookEveryMs how often a holder looks whether its socket is still there; default: 5 s
 * @param given.work what it is acquired for; default: collecting
 * @param given.warn told where the lock cannot be had, or not be trusted; the work goes on
 * @throws QuotekeeperError COLLECTOR_RUNNING or SERVE_RUNNING, naming who holds it; DATA_DIR_UNWRITABLE
 */
export async function lockDataDir(
  dataDir: string,
  {
    warn,
    work = COLLECTING,
    lookEveryMs = LOOK_EVERY_MS,
    ...given
  }: Options & { warn: (message: string) => void; lookEveryMs?: number },
): Promise<DataDirLock> {
  const { clock, self } = given;
  const options = { ...given, work };
  const dir = join(dataDir, work.dir);
  const make = async (): Promise<void> => {
    for (const each of [dataDir, dirname(dir), dir]) await ensureDataDir(each);
  };
  await make();
  const own = { id: Buffer.from(clock.random(8)).toString("hex"), since: clock.now().toISOString() };
  const door = new Door(own, self, work);
  const held = (dead: readonly string[]): DataDirLock => ({
    id: own.id,
    wanted: door.wanted,
    isHeld: () => process.platform === "win32" || !door.holds || door.isThere(),
    release: (asked) => {
      clearInterval(looking);
      return door.close(asked);
    },
    dead: dead.map((file) => NAME.exec(file)?.[2] ?? ""),
    forgetDead: async () => {
      for (const file of dead) await rm(join(dir, file), { force: true }).catch(() => undefined);
    },
  });
  const stay = async (): Promise<void> => {
    if (!door.holds || door.isThere()) return;
    if (door.once) return door.want();
    await make();
    await door.appearAgain(dir, await reachOf(dataDir, work));
  };
  let looking: NodeJS.Timeout | undefined;
  try {
    if (process.platform !== "win32") {
      const dead = await acquireBySocket(door, dataDir, { ...options, warn });
      // Where that is not possible now, it may be at the next look.
      looking = setInterval(() => void stay().catch(() => undefined), lookEveryMs).unref();
      return held(dead);
    }
    await acquireByPipe(door, dataDir, options);
    return held([]);
  } catch (error) {
    await door.close();
    if (error instanceof QuotekeeperError) throw error;
    if (!NO_SOCKETS.includes(errnoOf(error) ?? "")) throw unwritable(dir, error);
    warn(
      `${dir} cannot hold a socket (${errnoOf(error)}), so that a second ${work.who} on this data directory would not be noticed: see that there is none.`,
    );
    return held([]);
  }
}

/** Who holds the lock of a data directory; null: nobody. Makes and takes nothing. */
export async function findCollector(dataDir: string, options: Options): Promise<Answer | null> {
  const work = COLLECTING;
  const pipe = await pipeOf(dataDir, work);
  const around =
    process.platform === "win32"
      ? [{ answer: await ask(pipe, null, options.clock) }]
      : await lookAround(dataDir, null, { ...options, work }).catch(() => []);
  return around.map(({ answer: found }) => found).find(isHolder) ?? null;
}

/** Contends for the lock by a socket in the data directory. @returns the sockets of dead runs */
async function acquireBySocket(
  door: Door,
  dataDir: string,
  { clock, self, work, warn }: Required<Options> & { warn: (message: string) => void },
): Promise<string[]> {
  const dir = join(dataDir, work.dir);
  await door.appear(dir, await reachOf(dataDir, work));
  const startedMs = clock.monotonicMs();
  for (;;) {
    door.waits = false;
    const around = await lookAround(dataDir, door, { clock, self, work });
    const answers = around.flatMap(({ answer: found }) => (typeof found === "object" ? [found] : []));
    const holder = answers.find(isHolder);
    // A command leaves the lock to a collector.
    if (holder && (work.once || !holder.once)) throw alreadyRunning(dataDir, holder, work);
    const mute = around.find(({ answer: found }) => found === "mute");
    if (mute && !work.once && isOnceFile(mute.file) && clock.monotonicMs() - startedMs > PATIENCE_MS) {
      warn(standsStill(join(dir, mute.file)));
      await rm(join(dir, mute.file), { force: true });
      continue;
    }
    if (mute && clock.monotonicMs() - startedMs > PATIENCE_MS)
      throw await notAnswering(dataDir, mute.file, work);
    if (!holder && !mute && !door.waits && !answers.some((one) => goesFirst(one, door.own))) {
      door.holds = true;
      for (const { file, answer: found } of around)
        if (found === "elsewhere") warn(mayRunElsewhere(join(dir, file), work));
      const dead = around.flatMap(({ file, answer: found }) => (found === "dead" ? [file] : []));
      // A command leaves nothing that somebody has to settle.
      for (const file of dead.filter(isOnceFile)) await rm(join(dir, file), { force: true });
      return dead.filter((file) => !isOnceFile(file));
    }
    await clock.sleep(AGAIN_MS);
  }
}

/** Asks at each socket of the directory but one's own. @throws the system's error */
async function lookAround(
  dataDir: string,
  door: Pick<Door, "own" | "file" | "once"> | null,
  { clock, self, work }: Required<Options>,
): Promise<(Neighbour & { path: string })[]> {
  const reach = await reachOf(dataDir, work);
  const files = (await readdir(join(dataDir, work.dir))).filter(
    (file) => NAME.test(file) && file !== door?.file,
  );
  return Promise.all(
    files.map(async (file) => {
      const path = join(reach, file);
      const stats = await lstat(join(dataDir, work.dir, file)).catch(() => null);
      const found = stats?.isSocket() ? await ask(path, door, clock) : "gone";
      return { file, path, answer: found === "dead" && !isOfKernel(file, self) ? "elsewhere" : found };
    }),
  );
}

/** On Windows, which has no sockets in directories: one pipe, which one process alone can make. */
async function acquireByPipe(door: Door, dataDir: string, { clock, work }: Required<Options>): Promise<void> {
  const path = await pipeOf(dataDir, work);
  const startedMs = clock.monotonicMs();
  while (!door.holds) {
    try {
      await door.listen(path);
      door.holds = true;
    } catch (error) {
      if (errnoOf(error) !== "EADDRINUSE") throw error;
      const found = await ask(path, door, clock);
      if (typeof found === "object" && (work.once || !found.once)) throw alreadyRunning(dataDir, found, work);
      if (typeof found !== "object" && clock.monotonicMs() - startedMs > PATIENCE_MS)
        throw new QuotekeeperError(
          work.code,
          `the lock of ${dataDir} is held by a process that does not answer`,
        );
      await clock.sleep(AGAIN_MS);
    }
  }
}

async function pipeOf(dataDir: string, { code }: LockedWork): Promise<string> {
  const real = await realpath(dataDir).catch(() => dataDir);
  // The collector's name is the one it had before there was another lock.
  const named = `${real.toLowerCase()}${code === COLLECTING.code ? "" : `*${code}`}`;
  return `\\\\.\\pipe\\quotekeeper-${createHash("sha256").update(named).digest("hex").slice(0, 32)}`;
}

/** The directory of the sockets by a name that leaves room for theirs. @throws an error of the code ENAMETOOLONG */
function reachOf(dataDir: string, { dir }: LockedWork): Promise<string> {
  const caches = cachesOf(process.geteuid?.(), dataDir);
  return socketDir(join(dataDir, dir), caches, { longestName: LONGEST_NAME }).catch((cause: Error) => {
    throw systemError("ENAMETOOLONG", cause.message);
  });
}

/** Another run of the same machine's name had its sockets in a kernel that has ended. */
function isOfKernel(file: string, { kernel, host }: ThisProcess): boolean {
  const [, , , theirs, theirHost = ""] = NAME.exec(file) ?? [];
  return theirs === kernel || theirHost === shortened(host);
}

function isHolder(found: Neighbour["answer"]): found is Answer {
  return typeof found === "object" && found.state === "holds";
}
