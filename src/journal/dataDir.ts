import { join, resolve } from "node:path";
import { QuotekeeperError } from "../ground/errors.ts";
import { reasonOf, nodeFs, type JournalFs } from "./fs.ts";
import { makeDataDir } from "./modes.ts";
import { ownerNote } from "../ground/users.ts";

export function journalDir({ dataDir }: { dataDir: string }): string {
  return join(resolve(dataDir), "journal");
}

/**
 * For its owner alone, whatever the umask.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE when it cannot be made or written
 */
export async function ensureDataDir(dir: string, fs: JournalFs = nodeFs): Promise<void> {
  await orUnwritable(dir, async () => {
    await makeDataDir(dir, "owner");
    await fs.access(dir);
  });
}

/**
 * For its readers alone.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE when it cannot be made or written
 */
export async function ensureJournalDir(dir: string, fs: JournalFs = nodeFs): Promise<void> {
  await orUnwritable(dir, async () => {
    await fs.mkdir(dir);
    await fs.access(dir);
  });
}

async function orUnwritable(dir: string, work: () => Promise<void>): Promise<void> {
  await work().catch((cause: unknown) => {
    throw unwritable(dir, cause);
  });
}

export function unwritable(path: string, cause: unknown): QuotekeeperError {
  const why = `${reasonOf(cause)}${ownerNote(path, cause)}`;
  return new QuotekeeperError("DATA_DIR_UNWRITABLE", `${path} cannot be written: ${why}`, { cause });
}
