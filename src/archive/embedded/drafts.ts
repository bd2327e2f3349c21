/**
 * Directories that are made under another name, `<place>.new-<pid>`, and get theirs when they are whole. A kill leaves
 * a draft behind, and nothing holds a lock on it that would tell a dead one from one that is being made. So:
 *
 * - before a place is made, drafts of processes that are gone make room;
 * - once it is there every draft goes, also one that another program is still at: that program finds the place taken,
 *   and uses what is there. An id that the system has given to somebody else keeps a draft no longer than that.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isGone, type Processes } from "../../ground/processes.ts";

/** Where a process makes what shall be at `place`. */
export function draftOf(place: string, { pid }: Processes): string {
  return `${place}.new-${pid}`;
}

/** Removes drafts of a place that is not there yet, as far as they are nobody's. Never throws. */
export async function sweepDeadDrafts(place: string, processes: Processes): Promise<void> {
  await sweep(place, (pid) => isGone(pid, processes));
}

/** Removes all drafts of a place that is there. Never throws. */
export async function sweepDrafts(place: string): Promise<void> {
  await sweep(place, () => true);
}

async function sweep(place: string, isOver: (pid: number) => boolean): Promise<void> {
  const prefix = `${basename(place)}.new-`;
  for (const name of await readdir(dirname(place)).catch(() => [])) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (!/^\d+$/.test(pid) || !isOver(Number(pid))) continue;
    // What cannot be removed (Windows keeps what is open) is left to the next start.
    await rm(join(dirname(place), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
