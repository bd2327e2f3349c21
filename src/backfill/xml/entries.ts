/** What files hold: the file itself, or the entries of an archive, one after the other, each at most once in memory. */
import { createReadStream } from "node:fs";
import type { Instant } from "../../instant.ts";
import { type Content, uncompressed } from "./content.ts";
import { tarEntries } from "./tar.ts";
import { zipEntries } from "./zip.ts";

/** One file, or one entry of an archive. */
export type Entry = {
  /** Where it was found; names inside archives are names and nothing more: nothing is ever written there. */
  path: string;
  mtime: Instant;
  /** Its bytes, uncompressed; to be asked for before the next entry is. */
  read: () => Promise<Content>;
};

/** What an archive holds; `broken` ends it when the rest of it cannot be read. */
export type Found = { kind: "entry"; entry: Entry } | { kind: "broken"; path: string; problem: string };

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
export function archiveEntries(path: string, mtime: Instant): AsyncGenerator<Found, void> {
  return isZip(path) ? zipEntries(path, mtime) : tarEntries(path, mtime);
}

/** The content of a file on disk. */
export function readFileContent(path: string): Promise<Content> {
  return uncompressed(path, createReadStream(path));
}
