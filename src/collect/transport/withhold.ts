/**
 * Services have been known to quote a refused request in their answer: keys, tokens, signature base strings. The
 * journal keeps answers byte for byte, but no credential and no signature.
 */
import { percentEncode } from "../../services/percentEncode.ts";

const SHORTEST_WITHHELD = 8;

const STAR = 0x2a;

type Withhold = {
  /** The bytes themselves when none of the secrets is in them, else a copy without them. */
  bytes: (bytes: Uint8Array) => Uint8Array;
  text: (text: string) => string;
};

/** @param secrets the account's, and those that the call was signed with */
export function withholding(secrets: readonly string[]): Withhold {
  const forms = [...new Set(secrets.flatMap(writtenForms))]
    // The longest first, or a form that begins like another would leave its end behind.
    .sort((a, b) => b.length - a.length)
    .map((form) => Buffer.from(form));
  const bytes = (given: Uint8Array): Uint8Array => withoutForms(given, forms);
  return { bytes, text: (text) => Buffer.from(bytes(Buffer.from(text))).toString("utf8") };
}

/** How a secret may be written in an answer: as it is, for a URL, for a signature base string, for XML, for JSON. */
function writtenForms(secret: string): string[] {
  if (secret.length < SHORTEST_WITHHELD) return [];
  const encoded = percentEncode(secret);
  const forURL = [encoded, encodeURIComponent(secret), percentEncode(encoded)];
  const forXml = secret.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return [
    secret,
    ...forURL,
    ...forURL.map((form) => form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())),
    forXml,
    forXml.replace(/"/g, "&quot;"),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function withoutForms(given: Uint8Array, forms: readonly Buffer[]): Uint8Array {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  let copy: Buffer | null = null;
  for (const form of forms) {
    for (let at = bytes.indexOf(form); at >= 0; at = bytes.indexOf(form, at + 1)) {
      copy ??= Buffer.from(bytes);
      copy.fill(STAR, at, at + form.length);
    }
  }
  return copy ?? given;
}
