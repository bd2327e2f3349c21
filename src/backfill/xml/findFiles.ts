/** The files below some paths, in an order that is always the same. */
import { type Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { QuotekeeperError } from "../../errors.ts";
import { type Instant, instantOf } from "../../instant.ts";
import { plausible } from "./savedTime.ts";

/** A file on disk. */
export type FoundFile = {
  path: string;
  bytes: number;
  mtime: Instant;
  /** Whether it was named itself, in place of its directory. */
  named: boolean;
};

/**
 * The files of each path in turn; those of a directory sorted by name, code unit by code unit, at every depth. A
 * link to a file counts as one; links to directories, which may go round in circles, are passed over.
 *
 * @throws QuotekeeperError BACKFILL_NOTHING when a path that was given is not there
 */
export async function* findFiles(paths: readonly string[]): AsyncGenerator<FoundFile, void> {
  for (const path of paths) {
    const found = await stat(path, { bigint: true }).catch((cause: NodeJS.ErrnoException) => {
      throw new QuotekeeperError("BACKFILL_NOTHING", `${path} cannot be read (${cause.code})`, { cause });
    });
    if (found.isDirectory()) yield* filesBelow(path);
    else yield fileOf(path, found, true);
  }
}

async function* filesBelow(dir: string): AsyncGenerator<FoundFile, void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new QuotekeeperError("BACKFILL_NOTHING", `${dir} cannot be read (${cause.code})`, { cause });
  });
  for (const entry of entries.sort(byName)) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      yield* filesBelow(path);
      continue;
    }
    const found = await stat(path, { bigint: true }).catch(() => null);
    if (found?.isFile()) yield fileOf(path, found, false);
  }
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

function fileOf(
  path: string,
  { size, mtimeNs }: { size: bigint; mtimeNs: bigint },
  named: boolean,
): FoundFile {
  const mtime = plausible(mtimeNs / 1_000n) ?? instantOf(0n);
  return { path, bytes: Number(size), mtime, named };
}

/** The sum of all their sizes. */
export async function bytesBelow(paths: readonly string[]): Promise<number> {
  let sum = 0;
  for await (const { bytes } of findFiles(paths)) sum += bytes;
  return sum;
}

/** A path's last name, in archives too. */
export function lastName(path: string): string {
  return basename(path.replaceAll("\\", "/"));
}
