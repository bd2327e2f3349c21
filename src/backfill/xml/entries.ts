/** What files hold: the file itself, or the entries of an archive, one after the other, each at most once in memory. */
import { openFile } from "../../plainFiles.ts";
import { type Content, reason, uncompressed } from "./content.ts";
import type { FoundFile } from "./findFiles.ts";
import { tarEntries } from "./tar.ts";
import { zipEntries } from "./zip.ts";
import type { Found } from "./entry.ts";

/** Whether a file's name says that it holds others. */
export function isArchive(path: string): boolean {
  return isZip(path) || isTar(path);
}

function isZip(path: string): boolean {
  return /\.zip$/iu.test(path);
}

function isTar(path: string): boolean {
  return /\.(tar|tar\.gz|tgz)$/iu.test(path);
}

/** The entries of an archive in its own order. Never throws on account of its content. */
export async function* archiveEntries({ path, mtime, named }: FoundFile): AsyncGenerator<Found, void> {
  try {
    const file = await openFile(path, { links: named });
    yield* isZip(path) ? zipEntries(file, mtime) : tarEntries(file, path, mtime);
  } catch (error) {
    yield { kind: "broken", path, problem: reason(error) };
  }
}

/** The content of a file on disk. */
export async function readFileContent({ path, named }: FoundFile): Promise<Content> {
  try {
    return await uncompressed(path, (await openFile(path, { links: named })).createReadStream());
  } catch (error) {
    return { ok: false, problem: reason(error) };
  }
}
