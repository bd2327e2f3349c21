/** The keys of a running service: those of the file as they are at each call, and those given for the run. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { KEY_FILE } from "./keyFile.ts";
import type { ServiceKey } from "./key.ts";
import { openKeys } from "./keyStore.ts";
import type { SealingSource } from "./sealing.ts";

/**
 * Follows the file of keys. It is looked at on each call, so that a key that was revoked is refused at once; it is read
 * again only when it is another file than before, for each change replaces it.
 *
 * @param ofRun keys that are not in the file
 * @param onProblem called once for each state of the file that cannot be read; the keys from before stay
 * @throws QuotekeeperError KEYS_UNREADABLE when it cannot be read at the beginning
 */
export function followKeys(
  place: SealingSource,
  ofRun: readonly ServiceKey[],
  onProblem: (error: unknown) => void,
): () => readonly ServiceKey[] {
  const path = join(place.dir, KEY_FILE);
  let seen = versionOf(path);
  let keys = [...openKeys(place), ...ofRun];
  return () => {
    const version = versionOf(path);
    if (version === seen) return keys;
    seen = version;
    try {
      keys = [...openKeys(place), ...ofRun];
    } catch (error) {
      onProblem(error);
    }
    return keys;
  };
}

/** A text that differs from one file of this name to the next; empty when there is none. */
function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}` : "";
}
