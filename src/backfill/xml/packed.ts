/** What files hold: the file itself, or the entries of an archive, one after the other, each at most once in memory. */
import { openFile } from "../../plainFiles.ts";
import type { FoundFile } from "./findFiles.ts";
import type { Instant } from "../../clock.ts";
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { MAX_BODY_BYTES } from "../../services/strictXml.ts";
import { dosInstant, plausible } from "./savedTime.ts";
import yauzl from "yauzl";

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

export async function readFileContent({ path, named }: FoundFile): Promise<Content> {
  try {
    return await uncompressed(path, (await openFile(path, { links: named })).createReadStream());
  } catch (error) {
    return { ok: false, problem: reason(error) };
  }
}

export type Entry = {
  path: string;
  mtime: Instant;
  /** Its bytes, uncompressed; to be asked for before the next entry is. */
  read: () => Promise<Content>;
};

/**
 * What an archive holds; `passed` is a link or a device, and `broken` ends it when the rest of it cannot be read.
 */
type Found =
  | { kind: "entry"; entry: Entry }
  | { kind: "passed"; path: string }
  | { kind: "broken"; path: string; problem: string };

/** How much of a tar file is read at a time, in bytes: gzip may make a thousand times of it, which is held. */
const TAR_CHUNK = 8_192;

async function* tarEntries(file: FileHandle, path: string, mtime: Instant): AsyncGenerator<Found, void> {
  const ready: Found[] = [];
  const parser = new Parser({
    onReadEntry: (entry) => collectEntry(entry, mtime, (found) => ready.push(found)),
    onwarn: (code, message) => {
      if (code !== "TAR_ENTRY_INFO") ready.push({ kind: "broken", path, problem: reason(message) });
    },
  });
  let failed = false;
  let ended: () => void = () => undefined;
  const whenEnded = new Promise<void>((resolve) => (ended = resolve));
  parser.on("error", (error: Error) => {
    failed = true;
    ready.push({ kind: "broken", path, problem: reason(error) });
    ended();
  });
  parser.on("end", () => ended());
  for await (const chunk of file.createReadStream({ highWaterMark: TAR_CHUNK })) {
    parser.write(chunk as Buffer);
    yield* ready.splice(0);
    if (failed) return;
  }
  parser.end();
  await whenEnded;
  yield* ready.splice(0);
}

/** Gathers an entry's bytes as they pass by; what is too large for an answer passes by and is gone. */
function collectEntry(entry: ReadEntry, mtime: Instant, onFound: (found: Found) => void): void {
  if (entry.type !== "File" && entry.type !== "OldFile" && entry.type !== "ContiguousFile") {
    if (entry.type !== "Directory" && entry.type !== "GNUDumpDir")
      onFound({ kind: "passed", path: entry.path });
    return entry.resume();
  }
  const { path, size } = entry;
  const chunks: Buffer[] = [];
  const fits = size <= MAX_BODY_BYTES;
  entry.on("data", (chunk) => {
    if (fits) chunks.push(chunk);
  });
  const at = entry.mtime === undefined ? null : plausible(BigInt(entry.mtime.getTime()) * 1_000n);
  entry.on("end", () => {
    const bytes = Buffer.concat(chunks);
    const content = (): Promise<Content> => {
      if (!fits) return Promise.resolve(tooLarge(size));
      if (bytes.length < size)
        return Promise.resolve({ ok: false, problem: "the archive ends in its midst" });
      return isGzip(path) ? gunzipped(bytes) : Promise.resolve({ ok: true, bytes });
    };
    onFound({ kind: "entry", entry: { path, mtime: at ?? mtime, read: content } });
  });
}

/** In the archive's own order. Closes the file. @throws what is wrong with the archive */
async function* zipEntries(file: FileHandle, mtime: Instant): AsyncGenerator<Found, void> {
  try {
    // Names are decoded here: one that points out of the archive is refused by yauzl, and costs the whole archive.
    const zip = await yauzl.fromFdPromise(file.fd, { decodeStrings: false, autoClose: false });
    for await (const entry of zip.eachEntry()) {
      const path = nameOf(entry);
      if (path.endsWith("/")) continue;
      if (isPlain(entry)) yield { kind: "entry", entry: zipEntry(zip, entry, { path, mtime }) };
      else yield { kind: "passed", path };
    }
  } finally {
    await file.close();
  }
}

/** Unix writes an entry's mode into the upper half of its attributes; others leave that 0, or have a plain file there. */
function isPlain({ externalFileAttributes }: yauzl.Entry): boolean {
  const kind = (externalFileAttributes >>> 16) & 0o170000;
  return kind === 0 || kind === 0o100000;
}

function zipEntry(zip: yauzl.ZipFile, entry: yauzl.Entry, given: { path: string; mtime: Instant }): Entry {
  const { path } = given;
  return {
    path,
    mtime: zipTime(entry) ?? given.mtime,
    read: async () => {
      if (entry.uncompressedSize > MAX_BODY_BYTES && !isGzip(path)) return tooLarge(entry.uncompressedSize);
      try {
        return await uncompressed(path, await zip.openReadStreamPromise(entry));
      } catch (error) {
        return { ok: false, problem: reason(error) };
      }
    },
  };
}

function nameOf(entry: yauzl.Entry): string {
  // Without decodeStrings the name is bytes, whatever the types say.
  const bytes = entry.fileName as unknown as Buffer;
  return yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, bytes, entry.extraFields, false);
}

/** Extra fields that hold a time in UTC: Info-ZIP's and NTFS's. Without them there are MS-DOS fields, in no zone. */
const UTC_FIELDS = new Set([0x5455, 0x000a]);

function zipTime(entry: yauzl.Entry): Instant | null {
  const date = entry.getLastModDate({ timezone: "UTC" });
  const isUtc = entry.extraFields.some(({ id }) => UTC_FIELDS.has(id));
  return isUtc ? plausible(BigInt(date.getTime()) * 1_000n) : dosInstant(date);
}

/** The bytes of one file or entry, uncompressed, and never more than an answer may have; or why there are none. */
type Content = { ok: true; bytes: Buffer } | { ok: false; problem: string };

/** Whether a name says that its content is compressed by itself. */
function isGzip(path: string): boolean {
  return /\.gz$/iu.test(path);
}

function gunzipped(bytes: Buffer): Promise<Content> {
  const gunzip = createGunzip();
  gunzip.end(bytes);
  return collect(gunzip);
}

/** The content of a stream; `path` says whether it is gzip. */
async function uncompressed(path: string, stream: Readable): Promise<Content> {
  if (!isGzip(path)) return collect(stream);
  const gunzip = createGunzip();
  stream.on("error", (error) => gunzip.destroy(error));
  const content = await collect(stream.pipe(gunzip));
  stream.destroy();
  return content;
}

/** All bytes of a stream, as long as they are an answer's: what grows beyond is given up, not held. */
async function collect(stream: Readable): Promise<Content> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += (chunk as Buffer).length;
      if (size > MAX_BODY_BYTES) return tooLarge(size);
      chunks.push(chunk as Buffer);
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  } catch (error) {
    return { ok: false, problem: reason(error) };
  } finally {
    stream.destroy();
  }
}

/** What is said of content that cannot be an answer. */
function tooLarge(size: number): Content {
  return { ok: false, problem: `${size} bytes and perhaps more: no answer is larger than ${MAX_BODY_BYTES}` };
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
