/** The journal's line in `status`: whether it can be written, and how far the loader is behind it. */
import { stat } from "node:fs/promises";
import { probeJournal } from "../../journal/probe.ts";
import { journalLag, type Lag } from "../../journal/lag.ts";
import { listSegments } from "../../journal/segments.ts";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { dateOf } from "../../instant.ts";

/** What the journal is like, in words and as data. */
export type JournalHealth = {
  state: "ok" | "attention" | "idle";
  text: string;
  /** What the database has not taken yet; null when there is no database to ask. */
  lag: Lag | null;
};

/** More than this waiting to be loaded, in bytes, means that the loader does not keep up, or does not run. */
const MOST_LAG_BYTES = 16 * 1024 * 1024;

/** So does a record that has waited longer than this, in ms: a loader looks through all of the journal every minute. */
const MOST_LAG_MS = 10 * 60_000;

/**
 * Looks at the journal of a directory. The collector is another process, so whether it can write is found out by
 * writing beside it; a journal that was never begun is left alone.
 *
 * @param loaded how far the database has loaded each segment; null when that is not known
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function journalHealth(
  dir: string,
  loaded: ReadonlyMap<string, number> | null,
  clock: Clock,
): Promise<JournalHealth> {
  const segments = await listSegments(dir);
  if (segments.length === 0 && !(await exists(dir))) return { state: "idle", text: "empty", lag: null };
  const lag = loaded && (await journalLag(dir, loaded, { segments }));
  const total = segments.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
  const size = `${segments.length} segments, ${(total / 1e6).toFixed(1)} MB`;
  const ageMs = lag?.oldestAt ? Math.max(0, clock.now().getTime() - dateOf(lag.oldestAt).getTime()) : 0;
  const text = [size, ...(lag ? [describe(lag, ageMs)] : [])].join(", ");
  const unwritable = await probeJournal(dir, clock).catch((error: unknown) => error);
  if (unwritable instanceof QuotekeeperError)
    return { state: "attention", text: `${unwritable.message} (${text})`, lag };
  if (segments.length === 0) return { state: "idle", text: "empty", lag };
  const late = lag !== null && (lag.bytes > MOST_LAG_BYTES || ageMs > MOST_LAG_MS);
  return { state: late ? "attention" : "ok", text, lag };
}

async function exists(dir: string): Promise<boolean> {
  return (await stat(dir).catch(() => null)) !== null;
}

function describe({ bytes, oldestAt }: Lag, ageMs: number): string {
  if (oldestAt === null) return "all loaded";
  const seconds = Math.round(ageMs / 1_000);
  const age = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `${bytes} bytes not loaded yet, the oldest from ${age} ago`;
}
