/**
 * Secrets at rest. HMAC-SHA1 needs the secret itself to verify a signature, so secrets are not hashed: they are sealed
 * with AES-256-GCM, and open only with the sealing secret, and only for the names and rights they were sealed for.
 */
import { createCipheriv, createDecipheriv, scryptSync } from "node:crypto";

const ALGORITHM = "aes-256-gcm";

/** Bytes of the initialization vector that GCM wants. */
export const IV_LENGTH = 12;

/** Bytes of the salt. */
export const SALT_LENGTH = 16;

/** The key that seals, from a secret text of any kind. Takes tens of milliseconds, on purpose. */
export function sealingKey(secret: string, salt: Uint8Array): Buffer {
  return scryptSync(secret, salt, 32);
}

/**
 * Seals a text.
 *
 * @param boundTo what it belongs to; only with the same text can it be opened
 * @param iv `IV_LENGTH` random bytes, never used before with this key
 * @returns `1.<iv>.<sealed>.<tag>`, base64url
 */
export function seal(
  plain: string,
  key: Buffer,
  { boundTo, iv }: { boundTo: string; iv: Uint8Array },
): string {
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
  const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return [
    "1",
    ...[Buffer.from(iv), sealed, cipher.getAuthTag()].map((bytes) => bytes.toString("base64url")),
  ].join(".");
}

/** Opens what was sealed; null when the key is another one, or anything was changed. */
export function unseal(text: string, key: Buffer, boundTo: string): string | null {
  const [version, iv = "", sealed = "", tag = "", ...rest] = text.split(".");
  if (version !== "1" || rest.length > 0) return null;
  try {
    const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, "base64url"), { authTagLength: 16 })
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(Buffer.from(tag, "base64url"));
    return Buffer.concat([decipher.update(Buffer.from(sealed, "base64url")), decipher.final()]).toString(
      "utf8",
    );
  } catch {
    return null;
  }
}
