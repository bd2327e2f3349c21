/**
 * The jobs that are polled once, a file each in `once/` of the data directory; the file's name is the job's slot.
 *
 * A job is asked (`.json`) -> done (no file), or left with instruments that may be asked for again (`.left`), which the same
 * command goes on with. What is no such job is set aside (`.broken`).
 */
import { randomUUID } from "node:crypto";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, type Instant, instantOf } from "../../ground/clock.ts";
import { ensureJournalDir, unwritable } from "../../journal/dataDir.ts";
import { nodeFs } from "../../journal/fs.ts";
import { readTextFile } from "../../ground/plainFiles.ts";
import { type OnceJob, onceSchema } from "../../schedule/onceJob.ts";

export type OnceFile = { path: string; slotAt: Instant; job: OnceJob };

type State = "json" | "left";

/** `20261120T225000.123456Z.json`. */
const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{6}Z)\.(json|left)$/;

function onceDir(dataDir: string): string {
  return join(dataDir, "once");
}

/**
 * Puts a job there; it is on the disk when this resolves. Its slot is now, at a microsecond by chance.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE
 */
export async function putOnce(
  dataDir: string,
  job: OnceJob,
  clock: Pick<Clock, "now" | "random">,
): Promise<OnceFile> {
  const dir = onceDir(dataDir);
  await ensureJournalDir(dir);
  const { path, slotAt } = await freePlace(dir, clock);
  const draft = join(dir, `.${randomUUID()}.new`);
  try {
    const file = await open(draft, "wx", 0o600);
    await file
      .writeFile(JSON.stringify(job))
      .then(() => file.sync())
      .finally(() => file.close());
    await rename(draft, path);
    await nodeFs.syncDirectory(dir);
  } catch (cause) {
    await rm(draft, { force: true });
    throw unwritable(path, cause);
  }
  return { path, slotAt, job };
}

async function freePlace(
  dir: string,
  clock: Pick<Clock, "now" | "random">,
): Promise<Pick<OnceFile, "path" | "slotAt">> {
  for (;;) {
    const [high = 0, low = 0] = clock.random(4).subarray(-2);
    // Within the millisecond before now: whatever is asked for it is asked for later.
    const ms = BigInt(clock.now().getTime() - 1);
    const slotAt = instantOf(ms * 1_000n + BigInt(((high << 8) | low) % 1_000));
    const place = { path: join(dir, `${slotAt.replace(/[-:]/g, "")}.json`), slotAt };
    if (!(await isAsked(place))) return place;
  }
}

/**
 * The jobs in a state, the oldest first.
 *
 * @param onBroken told of a file that was set aside because it is no such job, and why
 */
export async function listOnce(
  dataDir: string,
  state: State,
  onBroken: (path: string, why: string) => void = () => undefined,
): Promise<OnceFile[]> {
  const dir = onceDir(dataDir);
  const found: OnceFile[] = [];
  for (const name of (await readdir(dir).catch(() => [])).sort()) {
    const [, year, month, day, hour, minute, seconds, its] = NAME.exec(name) ?? [];
    if (its !== state) continue;
    const path = join(dir, name);
    const slotAt = `${year}-${month}-${day}T${hour}:${minute}:${seconds}`;
    try {
      const text = await readTextFile(path, { links: false });
      found.push({ path, slotAt, job: onceSchema.parse(JSON.parse(text)) });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") continue;
      const moved = await rename(path, `${path}.broken`).catch((cause: Error) => cause);
      onBroken(
        path,
        moved instanceof Error
          ? `${code ?? message}, and it cannot be moved: ${moved.message}`
          : (code ?? message),
      );
    }
  }
  return found;
}

/** Whether the job is still asked for: nobody has taken it back, and it is not done. */
export async function isAsked({ path }: Pick<OnceFile, "path">): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

/** The job is over, or taken back. Never throws: where it cannot be removed, it is found done at the next start. */
export async function endOnce({ path }: OnceFile): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/** Some of the job may be asked for again, by the same command. */
export async function leaveOnce({ path }: OnceFile): Promise<void> {
  await rename(path, path.replace(/\.json$/, ".left")).catch(() => undefined);
}

/** Asks again for what is left. @throws the system's error */
export async function goOnOnce(left: OnceFile): Promise<OnceFile> {
  const path = left.path.replace(/\.left$/, ".json");
  await rename(left.path, path);
  return { ...left, path };
}
