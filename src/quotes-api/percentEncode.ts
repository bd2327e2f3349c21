/** What is written as it is, RFC 3986 section 2.3. */
const UNRESERVED = /^[A-Za-z0-9._~-]*$/;

/**
 * Percent-encoding of RFC 3986 as OAuth wants it (RFC 5849 section 3.6): all but the unreserved characters.
 * `encodeURIComponent` alone leaves `! * ' ( )` as they are, and the signature would not match.
 */
export function percentEncode(text: string): string {
  // Most names and values are nothing but unreserved characters, and a service encodes a dozen for each call.
  if (UNRESERVED.test(text)) return text;
  return encodeURIComponent(text).replace(
    /[!*'()]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
