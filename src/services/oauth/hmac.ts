/**
 * HMAC-SHA1 (RFC 2104) for texts that are signed with the same key again and again: the key's two pads are made once,
 * and each text is hashed in two steps without an object of its own, which would cost more than the hashing.
 */
import crypto, { createHash, createHmac } from "node:crypto";

/** The HMAC-SHA1 of an ASCII text under one key, in base64. */
export type Hmac = (text: string) => string;

/** Bytes of a block of SHA-1; a longer key is hashed first (RFC 2104 section 2). */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 20;

type Encoding = "base64" | "base64url" | "binary";

// Typed as it is on the oldest Node that is supported: `hash` came with 20.12.
const { hash } = crypto as { hash?: typeof crypto.hash };

/** The hash of a text or of bytes, in one step where Node has one. */
export const hashOf: (algorithm: "sha1" | "sha256", data: string | Buffer, encoding: Encoding) => string =
  hash ?? ((algorithm, data, encoding) => createHash(algorithm).update(data).digest(encoding));

/**
 * @param key ASCII, as every key of OAuth is (RFC 5849 section 3.4.2)
 * @returns the HMAC under this key; it keeps the key
 */
export function hmacSha1(key: string): Hmac {
  const bytes = Buffer.from(key);
  if (bytes.length > BLOCK_BYTES) return (text) => createHmac("sha1", bytes).update(text).digest("base64");
  const block = Buffer.alloc(BLOCK_BYTES);
  bytes.copy(block);
  // ASCII like the key itself, so it can stand before a text.
  const innerPad = String.fromCharCode(...block.map((byte) => byte ^ 0x36));
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ 0x5c));
  return (text) => {
    outer.write(hashOf("sha1", `${innerPad}${text}`, "binary"), BLOCK_BYTES, "binary");
    return hashOf("sha1", outer, "base64");
  };
}
