/** Where the files of a test run lie. */
import { execFileSync } from "node:child_process";
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

const SHARED_MEMORY = "/dev/shm";

/** A run takes up to 2 GB; a machine that has no more to spare needs it for programs. */
const ROOM_BYTES = 8 * 1024 ** 3;

/**
 * Makes a directory in memory for the run's temporary files, where the machine has room for it: they are real files of a
 * real file system, but a sync costs nothing there, and the tests make many thousands.
 *
 * @returns null where there is none, or programs in it may not be run
 */
export function directoryInMemory() {
  try {
    accessSync(SHARED_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    if (Math.min(bavail * bsize, freemem()) < ROOM_BYTES) return null;
    // A short name: with a longer one than in /tmp, some paths to sockets would be too long.
    const dir = mkdtempSync(join(SHARED_MEMORY, "qk-"));
    // As /tmp is: PostgreSQL runs as another user.
    chmodSync(dir, 0o1777);
    if (runsPrograms(dir)) return dir;
    rmSync(dir, { recursive: true });
  } catch {
    // No Linux, or a container without it.
  }
  return null;
}

function runsPrograms(dir) {
  const program = join(dir, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program);
  }
}
