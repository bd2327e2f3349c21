/** Ids of imported pieces that follow from their content: a piece that is imported again has the same id. Pure. */
import { createHash, type Hash } from "node:crypto";

/** A hash over parts and their lengths: `ab`, `c` has another hash than `a`, `bc`. */
export function hashOf(parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash("sha256");
  for (const part of parts) addPart(hash, part);
  return hash;
}

export function addPart(hash: Hash, part: string | Uint8Array): void {
  hash.update(`${Buffer.byteLength(part)} `).update(part);
}

/** A UUID version 8 (RFC 9562, section 5.8) of the parts so far; more parts may follow. */
export function uuidOf(hash: Hash): string {
  const bytes = hash.copy().digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
