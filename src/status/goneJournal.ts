/**
 * That files of the journal went away while it was written (removed, or their disk unmounted): kept in the data directory until the
 * next start, because `status` is another process.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { QuotekeeperError } from "../ground/errors.ts";
import { ensureDataDir } from "../journal/dataDir.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";
import { inNewYork } from "../market/durations.ts";

const FILE = "journal-gone.json";

const gone = z.object({ since: z.iso.datetime().transform((text) => new Date(text)) });

/** The error of a journal whose files were last seen at `since`; null: nobody knows when. */
export function journalGone(dir: string, since: Date | null): QuotekeeperError {
  const what =
    since === null
      ? "is not there, although a collector has run here"
      : `was removed or unmounted while it was written: answers have been lost since ${inNewYork(since)}, as far as the database had not taken them`;
  return new QuotekeeperError("JOURNAL_REMOVED", `${dir} ${what}`);
}

/** Never throws: what cannot be written is in the log. */
export async function keepGone(dataDir: string, since: Date): Promise<void> {
  await ensureDataDir(dataDir).catch(() => undefined);
  await keepJson(join(dataDir, FILE), { since: since.toISOString() });
}

/** @returns when the files were last seen; null: none has gone in this run */
export async function readGone(dataDir: string): Promise<Date | null> {
  return (await readJson(join(dataDir, FILE), gone))?.since ?? null;
}

/** A start has seen what is there. Never throws. */
export async function forgetGone(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true }).catch(() => undefined);
}
