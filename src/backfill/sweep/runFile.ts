/**
 * The sweep that is under way, in a file of its own below the data directory: when it began. Which instruments it has
 * polled stands in the journal, under its name and that time; the database is not asked, it may be away.
 *
 * States: none -> begun (before its first call) -> none (all is polled and loaded).
 */
import { open, rename, rm } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../../errors.ts";
import type { Instant } from "../../clock.ts";
import { unwritable } from "../../journal/dataDir.ts";
import { nodeFs } from "../../journal/fs.ts";
import { readJson } from "../../plainFiles.ts";
import { isGone, type Processes } from "../../processes.ts";

export type SweepRun = {
  /** `sweep-` and a digest of what is asked: the job that its answers are kept under. */
  name: string;
  /** When it began; with the name it says which answers are its own. */
  begunAt: Instant;
  /** Whether it goes on with one that was ended early. */
  resumed: boolean;
  /** The file that says that it is under way. */
  path: string;
};

const DIRECTORY = "sweeps";

const begunRun = z.object({ begunAt: z.string().length(27), pid: z.number() });

/** The name of a sweep: the same for the same instruments of the same service. */
export function sweepName(asked: object): string {
  return `sweep-${createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 12)}`;
}

/** The unfinished sweep of that name; null when there is none. */
export async function findRun(dataDir: string, name: string): Promise<SweepRun | null> {
  const path = join(dataDir, DIRECTORY, `${name}.json`);
  const found = await readJson(path, begunRun);
  return found && { name, begunAt: found.begunAt, resumed: true, path };
}

/**
 * Goes on with the unfinished sweep of that name, or begins one; it is on the disk before a call is made.
 *
 * @param options.restart begins anew whatever is unfinished
 * @throws QuotekeeperError BACKFILL_OVERTAKEN while another process is at it; DATA_DIR_UNWRITABLE
 */
export async function openRun(
  dataDir: string,
  name: string,
  { now, restart, processes }: { now: Instant; restart: boolean; processes: Processes },
): Promise<SweepRun> {
  const dir = join(dataDir, DIRECTORY);
  const path = join(dir, `${name}.json`);
  const found = await readJson(path, begunRun);
  if (found && !isGone(found.pid, processes))
    throw new QuotekeeperError("BACKFILL_OVERTAKEN", `process ${found.pid} is at ${name}, says ${path}`);
  const resumed = found !== null && !restart;
  const begunAt = resumed ? found.begunAt : now;
  try {
    await nodeFs.mkdir(dir);
    await replaceDurably(path, `${JSON.stringify({ begunAt, pid: processes.pid })}\n`);
    await nodeFs.syncDirectory(dir);
  } catch (cause) {
    throw unwritable(path, cause);
  }
  return { name, begunAt, resumed, path };
}

/** Ends it: asked again, it begins anew. */
export async function closeRun({ path }: SweepRun): Promise<void> {
  await rm(path, { force: true });
}

/** Whoever reads it sees the old text or the new one, also after a power cut. */
async function replaceDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
