/** Notices that job files change, by looking: it works with every editor and on every file system. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** How often is looked, in ms. */
export const LOOK_EVERY_MS = 2_000;

/**
 * Calls `onChange` at the first look, and when a file of the directory, or one of the others, was added, removed or
 * written since the last one. The first call makes up for changes between reading the files and beginning to watch.
 *
 * @param options.others files outside the directory to look at as well (symbol lists), asked anew each time
 * @param options.onError what `onChange` threw; watching goes on
 * @returns how to stop
 */
export function watchJobs(
  dir: string,
  {
    others,
    onChange,
    onError,
  }: { others: () => readonly string[]; onChange: () => Promise<void>; onError: (error: unknown) => void },
): () => void {
  let seen: string | null = null;
  let looking = false;

  const look = async (): Promise<void> => {
    // Taken before the files are read: what is written meanwhile is seen at the next look.
    const now = await signature(dir, others());
    if (now === seen) return;
    seen = now;
    await onChange();
  };

  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void look()
      .catch(onError)
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Names, sizes and times of all files, as one text. */
async function signature(dir: string, others: readonly string[]): Promise<string> {
  const names = await readdir(dir).catch(() => []);
  const paths = [...names.sort().map((name) => join(dir, name)), ...others];
  const parts = await Promise.all(
    paths.map(async (path) => {
      const found = await stat(path).catch(() => null);
      return `${path} ${found?.size} ${found?.mtimeMs} ${found?.ino}`;
    }),
  );
  return parts.join("\n");
}
