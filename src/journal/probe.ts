/** Whether the journal could be written just now, found out by doing it: for a process that is not the writer. */
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { QuotekeeperError } from "../errors.ts";
import { reasonOf, nodeFs, writeAll, type JournalFs } from "./fs.ts";
import { uuidv7 } from "./uuid.ts";

/** Bytes tried: room for an answer of a few hundred quotes. */
const PROBE_BYTES = 1024 * 1024;

/**
 * Takes the steps of an append with a file that is no segment, and removes it: made, written, synced, renamed.
 *
 * @throws QuotekeeperError JOURNAL_WRITE_FAILED naming the step and the errno
 */
export async function probeJournal(dir: string, clock: Clock, fs: JournalFs = nodeFs): Promise<void> {
  const name = uuidv7(clock.now().getTime(), clock.random(10));
  const made = join(dir, `probe-${name}.tmp`);
  const renamed = join(dir, `probe-${name}.renamed.tmp`);
  let doing = "a new file cannot be made";
  try {
    const file = await fs.open(made, "wx");
    try {
      doing = "a file cannot be written";
      await writeAll(file, Buffer.alloc(PROBE_BYTES, "probe "), 0);
      doing = "a file cannot be synced";
      await file.datasync();
    } finally {
      await file.close();
    }
    doing = "a file cannot be renamed";
    await fs.rename(made, renamed);
    doing = "the directory cannot be synced";
    await fs.syncDirectory(dir);
  } catch (cause) {
    throw new QuotekeeperError("JOURNAL_WRITE_FAILED", `${dir}: ${doing}: ${reasonOf(cause)}`, { cause });
  } finally {
    for (const path of [made, renamed]) await fs.unlink(path).catch(() => undefined);
  }
}
