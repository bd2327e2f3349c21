/** RFC 3986 section 2.3. */
const UNRESERVED = /^[A-Za-z0-9._~-]*$/;

const IS_UNRESERVED = Array.from({ length: 256 }, (_, byte) => UNRESERVED.test(String.fromCharCode(byte)));

const DIGITS = Buffer.from("0123456789ABCDEF");
const PERCENT = 0x25;

/** Most names and values are unreserved, and a service encodes a dozen for each call. */
export function isUnreserved(text: string): boolean {
  return UNRESERVED.test(text);
}

/**
 * Percent-encoding of RFC 3986 as OAuth wants it (RFC 5849 section 3.6): all but the unreserved characters.
 * `encodeURIComponent` leaves `! * ' ( )` as they are, and the signature would not match.
 */
export function percentEncode(text: string): string {
  if (isUnreserved(text)) return text;
  // Byte by byte, by index, so that no text costs more than another: anybody may send it.
  const bytes = Buffer.from(text);
  const encoded = Buffer.allocUnsafe(bytes.length * 3);
  let length = 0;
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] ?? 0;
    if (IS_UNRESERVED[byte]) encoded[length++] = byte;
    else {
      encoded[length++] = PERCENT;
      encoded[length++] = DIGITS[byte >> 4] ?? 0;
      encoded[length++] = DIGITS[byte & 15] ?? 0;
    }
  }
  return encoded.toString("latin1", 0, length);
}
