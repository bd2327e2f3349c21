/** The entries of a zip file. */
import type { FileHandle } from "node:fs/promises";
import yauzl from "yauzl";
import type { Instant } from "../../clock.ts";
import { MAX_BODY_BYTES } from "../../quotes-api/xml.ts";
import { isGzip, reason, tooLarge, uncompressed } from "./content.ts";
import type { Entry, Found } from "./entry.ts";
import { dosInstant, plausible } from "./savedTime.ts";

/** In the archive's own order. Closes the file. @throws what is wrong with the archive */
export async function* zipEntries(file: FileHandle, mtime: Instant): AsyncGenerator<Found, void> {
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
