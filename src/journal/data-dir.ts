/** The directory of the journal. */
import { QuotekeeperError } from "../errors.ts";
import { errnoOf, nodeFs, type JournalFs } from "./fs.ts";

/**
 * Makes the journal's directory if it is not there.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE when it cannot be made or written
 */
export async function ensureJournalDir(dir: string, fs: JournalFs = nodeFs): Promise<void> {
  try {
    await fs.mkdir(dir);
    await fs.access(dir);
  } catch (cause) {
    throw new QuotekeeperError("DATA_DIR_UNWRITABLE", `${dir} cannot be written: ${errnoOf(cause)}`, {
      cause,
    });
  }
}
