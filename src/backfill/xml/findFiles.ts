/** The files below some paths, in an order that is always the same. */
import { type Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type Instant, instantOf } from "../../ground/clock.ts";
import { isDirectory, openFile } from "../../ground/plainFiles.ts";
import { plausible } from "./savedTime.ts";

export type FoundFile = {
  path: string;
  bytes: number;
  mtime: Instant;
  /** Whether it was named itself, in place of its directory. */
  named: boolean;
};

/**
 * The files of each path in turn; those of a directory sorted by name, code unit by code unit, at every depth. Links
 * and devices of a directory are passed over: whoever may write there must not choose what else is read. A link that
 * is given itself is followed inside its own directory.
 *
 * @param onPassed told of each link and device that is passed over
 * @throws QuotekeeperError BACKFILL_NOTHING when a path that was given is not there, no file, or packed
 */
export async function* findFiles(
  paths: readonly string[],
  onPassed: (path: string) => void,
): AsyncGenerator<FoundFile, void> {
  for (const path of paths) {
    try {
      if (!(await isDirectory(path))) {
        const packed = howToUnpack(path);
        if (packed !== null) throw new QuotekeeperError("BACKFILL_NOTHING", `${path} is ${packed}`);
        yield await namedFile(path);
        continue;
      }
    } catch (cause) {
      if (cause instanceof QuotekeeperError) throw cause;
      const { code } = cause as NodeJS.ErrnoException;
      throw new QuotekeeperError("BACKFILL_NOTHING", `${path} cannot be read (${code})`, { cause });
    }
    yield* filesBelow(path, onPassed);
  }
}

/** What to do with a file whose name says that it holds others; null: it says no such thing. */
export function howToUnpack(path: string): string | null {
  const [found, zip] = /\.(?:(zip)|tgz|tar(?:\.(?:gz|bz2|xz|zst))?)$/iu.exec(path) ?? [];
  if (found === undefined) return null;
  return `a packed file: unpack it first, with \`${zip ? "unzip" : "tar -xf"}\``;
}

async function* filesBelow(dir: string, onPassed: (path: string) => void): AsyncGenerator<FoundFile, void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new QuotekeeperError("BACKFILL_NOTHING", `${dir} cannot be read (${cause.code})`, { cause });
  });
  for (const entry of entries.sort(byName)) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      yield* filesBelow(path, onPassed);
      continue;
    }
    const found = await lstat(path, { bigint: true }).catch(() => null);
    if (found?.isFile()) yield fileOf(path, found, false);
    else onPassed(path);
  }
}

async function namedFile(path: string): Promise<FoundFile> {
  const file = await openFile(path);
  try {
    return fileOf(path, await file.stat({ bigint: true }), true);
  } finally {
    await file.close();
  }
}

function fileOf(
  path: string,
  { size, mtimeNs }: { size: bigint; mtimeNs: bigint },
  named: boolean,
): FoundFile {
  const mtime = plausible(mtimeNs / 1_000n) ?? instantOf(0n);
  return { path, bytes: Number(size), mtime, named };
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

export async function bytesBelow(paths: readonly string[]): Promise<number> {
  let sum = 0;
  for await (const { bytes } of findFiles(paths, () => undefined)) sum += bytes;
  return sum;
}
