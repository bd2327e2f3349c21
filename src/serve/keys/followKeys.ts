/** The keys of a running service: those of the file at each call, and those of the run. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { ServiceKey } from "./key.ts";
import { KEY_FILE, type KeyPlace, openKeys } from "./keyStore.ts";

/**
 * Follows the file of the keys: it is looked at each time the keys are asked for, so a revoked key is refused at once. Each change
 * replaces the file, so the file is read again only if it is another one.
 *
 * @param ofRun keys that are not in the file
 * @param onProblem called once for each unreadable file; the keys from before stay
 * @throws QuotekeeperError KEYS_UNREADABLE when the first file cannot be read
 */
export function followKeys(
  place: Pick<KeyPlace, "dir">,
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

/** A text that differs between two files of this name; empty: no file. */
function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}` : "";
}
