/**
 * Since when the ledger may have gaps. A run that is killed before it has accounted for the downtime before it has slots of its own
 * in the ledger already: the newest of them no longer tells where the gap begins, so a file does.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readTextFile, replaceFile } from "../plainFiles.ts";

/** A start that has not been accounted for. */
export type RunMarker = {
  /** The first start since the ledger was whole: this one's, or that of a run which was killed too early. */
  since: Date;
  /** Says that the ledger is whole up to this start. */
  settle: () => Promise<void>;
};

const MARKER_FILE = "unaccounted.json";

/** Begins a run at `startedAt`. Never throws: where nothing can be written, the gap begins with this run. */
export async function beginRun(dataDir: string, startedAt: Date): Promise<RunMarker> {
  const path = join(dataDir, MARKER_FILE);
  const before = await readSince(path);
  const since = before !== null && before < startedAt ? before : startedAt;
  await replaceFile(path, JSON.stringify({ since: since.toISOString() })).catch(() => undefined);
  return { since, settle: () => rm(path, { force: true }).catch(() => undefined) };
}

async function readSince(path: string): Promise<Date | null> {
  try {
    const { since } = JSON.parse(await readTextFile(path)) as { since?: unknown };
    const date = new Date(String(since));
    return Number.isNaN(date.getTime()) ? null : date;
  } catch {
    return null;
  }
}
