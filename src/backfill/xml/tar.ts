/** The entries of a tar file, compressed or not. */
import type { FileHandle } from "node:fs/promises";
import { Parser, type ReadEntry } from "tar";
import type { Instant } from "../../clock.ts";
import { MAX_BODY_BYTES } from "../../quotes-api/xml.ts";
import { type Content, gunzipped, isGzip, reason, tooLarge } from "./content.ts";
import type { Found } from "./entry.ts";
import { plausible } from "./savedTime.ts";

/** How much of a tar file is read at a time, in bytes: gzip may make a thousand times of it, which is held. */
const TAR_CHUNK = 8_192;

/** In the archive's own order. Closes the file. @throws what reading the file throws */
export async function* tarEntries(
  file: FileHandle,
  path: string,
  mtime: Instant,
): AsyncGenerator<Found, void> {
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
