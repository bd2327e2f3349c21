/**
 * Percent-encoding of RFC 3986 as OAuth wants it (RFC 5849 section 3.6): all but the unreserved characters.
 * `encodeURIComponent` alone leaves `! * ' ( )` as they are, and the signature would not match.
 */
export function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!*'()]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
