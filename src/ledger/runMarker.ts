/**
 * Since when the ledger may have gaps. A run that is killed before it has accounted for the downtime before it has slots of its own
 * in the ledger already: the newest of them no longer tells where the gap begins, so a file does.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { keepJson, readJson } from "../ground/plainFiles.ts";

export type RunMarker = {
  /** The first start since the ledger was whole: this one's, or that of a run which was killed too early. */
  since: Date;
  /** Says that the ledger is whole up to this start. */
  settle: () => Promise<void>;
};

const MARKER_FILE = "unaccounted.json";

const marker = z.object({ since: z.iso.datetime().transform((text) => new Date(text)) });

/** Begins a run at `startedAt`. Never throws: where nothing can be written, the gap begins with this run. */
export async function beginRun(dataDir: string, startedAt: Date): Promise<RunMarker> {
  const path = join(dataDir, MARKER_FILE);
  const before = (await readJson(path, marker))?.since ?? startedAt;
  const since = before < startedAt ? before : startedAt;
  await keepJson(path, { since: since.toISOString() });
  return { since, settle: () => rm(path, { force: true }).catch(() => undefined) };
}
