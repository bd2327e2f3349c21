/** Files that only their owner may read, and that are on the disk before anybody relies on them. */
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
 * Replaces a file in one step: a reader sees the old text or the new one. There must be one writer at a time. The
 * temporary file of a killed writer is removed.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeNew(temporary, text);
  renameSync(temporary, path);
}
