/**
 * Where an export is written before it is whole: a directory beside its own, renamed when everything is on the disk.
 *
 * `.OUT.partial-PID` is what a run of that process writes; one whose process has ended is what a killed run left, and is
 * removed by the next. With `replace`, the finished export that stood at OUT waits as `.OUT.replaced` for the moment
 * between two renames; a run that finds it without an OUT puts it back first.
 */
import { join, basename, dirname } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Processes, isGone } from "../../ground/processes.ts";
import { MANIFEST, isManifest } from "./manifest.ts";
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { syncDirectory } from "../../journal/fs.ts";
import { readTextFile } from "../../ground/plainFiles.ts";

export type Stage = {
  /** The directory to write into. */
  dir: string;
  /** Makes it the export: all directories on the disk, then one rename. */
  publish: () => Promise<void>;
  discard: () => Promise<void>;
};

/**
 * Cleans up after killed runs, then makes a stage.
 *
 * @param out where the export shall be, absolute
 * @throws QuotekeeperError EXPORT_EXISTS when something is there that may not be replaced; the file system's errors
 */
export async function openStage(
  out: string,
  { replace, processes }: { replace: boolean; processes: Processes },
): Promise<Stage> {
  const parent = dirname(out);
  const hidden = `.${basename(out)}`;
  const replaced = join(parent, `${hidden}.replaced`);
  await makeDirectories(parent);
  if ((await exists(replaced)) && !(await exists(out))) await rename(replaced, out);
  await refuseUnlessFree(out, replace);
  await removeLeftovers(parent, hidden, processes);
  const dir = join(parent, `${hidden}.partial-${processes.pid}`);
  await makeDirectories(dir);
  return {
    dir,
    publish: async () => {
      await syncDirectories(dir);
      // What came there meanwhile is not overwritten either.
      await refuseUnlessFree(out, replace);
      if (await exists(out)) await rename(out, replaced);
      await rename(dir, out);
      await syncDirectory(parent);
      await rm(replaced, { recursive: true, force: true });
    },
    discard: () => rm(dir, { recursive: true, force: true }),
  };
}

/** An empty directory is as good as none; anything else is only replaced if it is an export and that was asked for. */
async function refuseUnlessFree(out: string, replace: boolean): Promise<void> {
  if (!(await exists(out))) return;
  const names = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOTDIR") return null;
    throw error;
  });
  if (names?.length === 0) return;
  // Somebody else may have put anything where the manifest would be.
  const finished = names !== null && isManifest(await readTextFile(join(out, MANIFEST)).catch(() => ""));
  if (finished && replace) return;
  const what = finished ? "holds a finished export" : "exists, and is no export of quotekeeper";
  throw new QuotekeeperError("EXPORT_EXISTS", `${out} ${what}`);
}

async function removeLeftovers(parent: string, hidden: string, processes: Processes): Promise<void> {
  const prefix = `${hidden}.partial-`;
  for (const name of await readdir(parent)) {
    const owner = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (/^\d+$/.test(owner) && isGone(Number(owner), processes))
      await rm(join(parent, name), { recursive: true, force: true });
  }
  await rm(join(parent, `${hidden}.replaced`), { recursive: true, force: true });
}

async function syncDirectories(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isDirectory()) await syncDirectories(join(dir, entry.name));
  await syncDirectory(dir);
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
