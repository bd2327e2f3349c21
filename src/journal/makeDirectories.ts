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
    if (code !== "ENOENT" || dirname(path) === path || (await exists(dirname(path)))) throw error;
    await makeDirectories(dirname(path), mode);
    await mkdir(path, { mode }).catch((again: NodeJS.ErrnoException) => {
      // Another program made it in the meantime.
      if (again.code !== "EEXIST") throw again;
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
