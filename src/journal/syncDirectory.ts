import { open } from "node:fs/promises";

/** What is needed of the file system. */
export type OpenDirectory = (
  path: string,
  flags: "r",
) => Promise<{ sync: () => Promise<void>; close: () => Promise<void> }>;

/**
 * The answers of systems that have no such step, and keep a name with its file: Windows refuses to open a directory
 * (EISDIR) or to sync it once it is open (EPERM), some network file systems say that they cannot (EINVAL, ENOTSUP). A
 * disk that is full or broken never answers so.
 */
const NO_SUCH_STEP = new Set<string | undefined>(["EISDIR", "EPERM", "EINVAL", "ENOTSUP"]);

/**
 * Resolves when the names in a directory are on the disk, or when the system has no way to wait for that.
 *
 * @param openDirectory the file system's; default: the machine's own
 * @throws every other error of the file system
 */
export async function syncDirectory(path: string, openDirectory: OpenDirectory = open): Promise<void> {
  try {
    const directory = await openDirectory(path, "r");
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!NO_SUCH_STEP.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
