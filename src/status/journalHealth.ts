/** The journal's line in `status`: whether it can be written, and how far the loader is behind it. */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { journalLag, type Lag } from "../journal/lag.ts";
import { readCompleteness } from "../journal/completeness.ts";
import type { Finding } from "../journal/journalReports.ts";
import { type Clock, dateOf } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { type JournalFs, nodeFs, reasonOf, writeAll } from "../journal/fs.ts";
import { uuidv7 } from "../journal/uuid.ts";
import { slowDisk } from "../journal/slowDisk.ts";
import { bytes, counted } from "../ground/figures.ts";
import { CLOCK_FILE } from "../schedule/clockFile.ts";
import { journalGone, readGone } from "./goneJournal.ts";

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

/** A journal with less room than this below its cap, in bytes, is full: the next large answer does not fit. */
const FULL_WITHIN_BYTES = 1024 * 1024;

/**
 * Looks at the journal of a directory. The collector is another process, so whether it can write is found out by
 * writing beside it; a journal that was never begun is left alone.
 *
 * @param loaded how far the database has loaded each segment; null when that is not known
 * @param options.maxBytes cap of the journal's size; undefined: none
 * @param options.neverRan whether no collector has run: what was polled by hand waits for the first start. Default: false
 * @param options.fs what writes beside it
 * @throws QuotekeeperError JOURNAL_UNREADABLE when the directory cannot be read
 */
export async function journalHealth(
  dir: string,
  loaded: ReadonlyMap<string, number> | null,
  {
    clock,
    maxBytes,
    neverRan = false,
    fs = nodeFs,
  }: { clock: Clock; maxBytes: number | undefined; neverRan?: boolean; fs?: JournalFs },
): Promise<JournalHealth> {
  const { segments, findings } = await readCompleteness(dir);
  const goneSince = await readGone(dirname(dir));
  if (segments.length + findings.length === 0 && !(await exists(dir))) {
    if (goneSince === null && !(await exists(join(dirname(dir), CLOCK_FILE))))
      return { state: "idle", text: "empty", lag: null };
    return { state: "attention", text: journalGone(dir, goneSince).message, lag: null };
  }
  const lag = loaded && (await journalLag(dir, loaded, { segments }));
  const total = segments.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
  const cap = maxBytes === undefined ? "" : ` of at most ${bytes(maxBytes)}`;
  const size = `${counted(segments.length, "segment")}, ${bytes(total)}${cap}`;
  const ageMs = lag?.oldestAt ? Math.max(0, clock.now().getTime() - dateOf(lag.oldestAt).getTime()) : 0;
  const text = [size, ...(lag ? [describe(lag, ageMs)] : [])].join(", ");
  if (maxBytes !== undefined && total + FULL_WITHIN_BYTES > maxBytes)
    return { state: "attention", text: `${full(dir, total, maxBytes).message} (${text})`, lag };
  const unwritable = await probeJournal(dir, clock, fs).catch((error: unknown) => error);
  if (unwritable instanceof QuotekeeperError)
    return { state: "attention", text: `${unwritable.message} (${text})`, lag };
  const problems = [
    ...(goneSince ? [journalGone(dir, goneSince).message] : []),
    ...problemsOf(dir, findings),
  ];
  if (problems.length > 0) return { state: "attention", text: `${problems.join(" ")} (${text})`, lag };
  if (segments.length === 0) return { state: "idle", text: "empty", lag };
  const late = lag !== null && (lag.bytes > MOST_LAG_BYTES || ageMs > MOST_LAG_MS);
  if (late && neverRan) return { state: "idle", text: `${text}: \`quotekeeper start\` loads it`, lag };
  return { state: late ? "attention" : "ok", text, lag };
}

function full(dir: string, total: number, maxBytes: number): QuotekeeperError {
  return new QuotekeeperError("JOURNAL_FULL", `${dir} holds ${bytes(total)} of at most ${bytes(maxBytes)}`);
}

const MOST_NAMED = 2;

const WORDS: Partial<Record<Finding["problem"], string>> = {
  reordered: "under another segment's name",
  list_lost: "lost",
};

/** A file that cannot be read has a remedy of its own; each of a kind has the same. */
function problemsOf(dir: string, findings: readonly Finding[]): string[] {
  const unreadable = findings.filter(({ problem }) => problem === "unreadable");
  const others = findings.filter(({ problem }) => problem !== "unreadable");
  const [first] = unreadable;
  const more = unreadable.length > 1 ? ` (and ${unreadable.length - 1} more such files)` : "";
  return [
    ...(first ? [new QuotekeeperError("JOURNAL_UNREADABLE", `${first.detail}${more}`).message] : []),
    ...(others.length > 0 ? [incomplete(dir, others).message] : []),
  ];
}

function incomplete(dir: string, findings: readonly Finding[]): QuotekeeperError {
  const kinds = [...new Set(findings.map(({ problem }) => problem))].map((kind) => {
    const names = findings.filter(({ problem }) => problem === kind).map(({ segment }) => segment);
    const more = names.length > MOST_NAMED ? [`${names.length - MOST_NAMED} more`] : [];
    return `${WORDS[kind] ?? kind}: ${[...names.slice(0, MOST_NAMED), ...more].join(", ")}`;
  });
  return new QuotekeeperError("JOURNAL_INCOMPLETE", `${dir}: ${kinds.join("; ")}`);
}

async function exists(dir: string): Promise<boolean> {
  return (await stat(dir).catch(() => null)) !== null;
}

function describe(lag: Lag, ageMs: number): string {
  if (lag.oldestAt === null) return "all loaded";
  const seconds = Math.round(ageMs / 1_000);
  const age = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return `${bytes(lag.bytes)} not loaded yet, the oldest from ${age} ago`;
}

/** Bytes tried: room for an answer of a few hundred quotes. */
const PROBE_BYTES = 1024 * 1024;

/**
 * Takes the steps of an append with a file that is no segment, and removes it: made, written, synced, renamed.
 *
 * @returns DISK_SLOW where that took long
 * @throws QuotekeeperError JOURNAL_WRITE_FAILED naming the step and the errno
 */
async function probeJournal(dir: string, clock: Clock, fs: JournalFs): Promise<QuotekeeperError | null> {
  const name = uuidv7(clock.now().getTime(), clock.random(10));
  const made = join(dir, `probe-${name}.tmp`);
  const renamed = join(dir, `probe-${name}.renamed.tmp`);
  let doing = "a new file cannot be made";
  let slow: QuotekeeperError | null = null;
  try {
    const file = await fs.open(made, "wx");
    try {
      doing = "a file cannot be written";
      await writeAll(file, Buffer.alloc(PROBE_BYTES, "probe "), 0);
      doing = "a file cannot be synced";
      const beganMs = clock.monotonicMs();
      await file.datasync();
      slow = slowDisk(dir, clock.monotonicMs() - beganMs);
    } finally {
      await file.close();
    }
    doing = "a file cannot be renamed";
    await fs.rename(made, renamed);
    doing = "the directory cannot be synced";
    await fs.syncDirectory(dir);
    return slow;
  } catch (cause) {
    throw new QuotekeeperError("JOURNAL_WRITE_FAILED", `${dir}: ${doing}: ${reasonOf(cause)}`, { cause });
  } finally {
    for (const path of [made, renamed]) await fs.unlink(path).catch(() => undefined);
  }
}
