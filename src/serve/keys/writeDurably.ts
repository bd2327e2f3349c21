/** Files of a few kilobytes that only their owner may read, on the disk before anybody relies on them. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * Writes a file that is not there yet, mode 0600.
 *
 * @throws the error of the file system, EEXIST when there is one of that name
 */
export function writeNew(path: string, text: string): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a file in one step: whoever reads it sees the old text or the new one. One writer at a time; what a kill left
 * of an earlier one is removed.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeNew(temporary, text);
  renameSync(temporary, path);
}
