import { isAscii } from "node:buffer";
import { refused } from "../quotes/document.ts";

/** Bytes beyond which a body is not read at all (design, section 8). */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** The body as text, or DOCUMENT_REFUSED: too large, not UTF-8. A byte order mark is dropped. */
export function decodeBody(body: Uint8Array): string {
  if (body.byteLength > MAX_BODY_BYTES)
    throw refused(`${body.byteLength} bytes exceed the cap of ${MAX_BODY_BYTES}`);
  // ASCII, as nearly every answer is, needs no decoding: each byte is a character.
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw refused("the body is not valid UTF-8", cause);
  }
}
