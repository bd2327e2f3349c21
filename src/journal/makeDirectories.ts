import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

type DirectoryFs = { mkdir: typeof mkdir; stat: typeof stat };

/**
 * Makes a directory and those above it; nothing when it exists. Node's own `recursive` never returns where the system
 * answers ENOENT below a directory that exists, as it does below /proc.
 *
 * @param mode of the directories it makes
 * @throws the error of the file system that stands in the way
 */
export async function makeDirectories(
  path: string,
  mode = 0o777,
  fs: DirectoryFs = { mkdir, stat },
): Promise<void> {
  try {
    await fs.mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await fs.stat(path)).isDirectory()) return;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path) throw error;
    // If `above` exists now, another program made it since, or the system has no place below it: one more try
    // tells.
    if (!(await fs.stat(above).catch(() => null))) await makeDirectories(above, mode, fs);
    await fs.mkdir(path, { mode }).catch((again: NodeJS.ErrnoException) => {
      // Another program made it meanwhile.
      if (again.code !== "EEXIST") throw again;
    });
  }
}
