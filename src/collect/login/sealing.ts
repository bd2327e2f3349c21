/** Seals the tokens of logins: they open with the secrets of their account alone. */
import { createCipheriv, createDecipheriv, scryptSync } from "node:crypto";

const ALGORITHM = "aes-256-gcm";

/** Bytes of the initialization vector of GCM. */
export const IV_LENGTH = 12;

export const SALT_LENGTH = 16;

/** The sealing key of a secret text. Takes tens of milliseconds, on purpose. */
export function sealingKey(secret: string, salt: Uint8Array): Buffer {
  return scryptSync(secret, salt, 32);
}

/**
 * Seals a text.
 *
 * @param boundTo opens only with the same text
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
  const parts = [Buffer.from(iv), sealed, cipher.getAuthTag()];
  return `1.${parts.map((bytes) => bytes.toString("base64url")).join(".")}`;
}

/** Opens a sealed text; null: another key, or a changed text. */
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
