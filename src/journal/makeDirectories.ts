import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a directory and those above it; nothing when it is there. Node's own `recursive` never returns where the
 * system answers ENOENT below a directory that exists, as it does below /proc.
 *
 * @param mode of the directories it makes
 * @throws the error of the file system that stands in the way
 */
export async function makeDirectories(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    // Another program may have made the one above meanwhile, or makes this one now.
    if (!(await exists(dirname(path)))) await makeDirectories(dirname(path), mode);
    await mkdir(path, { mode }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== "EEXIST") throw again;
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
