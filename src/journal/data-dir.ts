/** The data directory, and the journal's within. */
import { QuotekeeperError } from "../errors.ts";
import { reasonOf, nodeFs, type JournalFs } from "./fs.ts";
import { makeDirectories } from "./makeDirectories.ts";
import { openToOthers } from "./modes.ts";

/**
 * Makes the data directory if it is not there. Others may pass through it, whatever the umask, and write nothing: the
 * embedded database may belong to another user.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE when it cannot be made or written
 */
export async function ensureDataDir(dir: string, fs: JournalFs = nodeFs): Promise<void> {
  await orUnwritable(dir, async () => {
    await makeDirectories(dir, 0o755);
    await fs.access(dir);
  });
}

/**
 * Makes the journal's directory if it is not there, for its owner alone.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE when it cannot be made or written
 */
export async function ensureJournalDir(dir: string, fs: JournalFs = nodeFs): Promise<void> {
  await orUnwritable(dir, async () => {
    await fs.mkdir(dir);
    await fs.access(dir);
  });
}

/**
 * Whether other users may write into a journal, as into one that was begun under a umask of 000. It is named and not
 * changed: a directory may have been opened on purpose.
 *
 * @returns JOURNAL_EXPOSED to tell the operator; null when all is well
 */
export async function journalExposed(dir: string, fs: JournalFs = nodeFs): Promise<QuotekeeperError | null> {
  const { mode } = await fs.stat(dir);
  if (openToOthers(mode, 0o022) === 0) return null;
  const octal = (mode & 0o7777).toString(8);
  return new QuotekeeperError("JOURNAL_EXPOSED", `other users may write into ${dir} (mode ${octal})`);
}

async function orUnwritable(dir: string, work: () => Promise<void>): Promise<void> {
  await work().catch((cause: unknown) => {
    throw unwritable(dir, cause);
  });
}

/** The error for something below the data directory that cannot be written. */
export function unwritable(path: string, cause: unknown): QuotekeeperError {
  return new QuotekeeperError("DATA_DIR_UNWRITABLE", `${path} cannot be written: ${reasonOf(cause)}`, {
    cause,
  });
}
