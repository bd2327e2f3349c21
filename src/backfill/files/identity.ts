/** Names for what is imported that follow from its content: imported again, it has the same name. Pure. */
import { createHash, type Hash } from "node:crypto";

/** A hash over parts, each with its length: `ab`, `c` is another one than `a`, `bc`. */
export function hashOf(parts: readonly (string | Uint8Array)[]): Hash {
  const hash = createHash("sha256");
  for (const part of parts) addPart(hash, part);
  return hash;
}

/** Adds one more part. */
export function addPart(hash: Hash, part: string | Uint8Array): void {
  hash.update(`${Buffer.byteLength(part)} `).update(part);
}

/** A UUID version 8 (RFC 9562, section 5.8) of what a hash has seen so far; the hash may go on. */
export function uuidOf(hash: Hash): string {
  const bytes = hash.copy().digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
