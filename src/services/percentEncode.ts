/**
 * Percent-encoding of RFC 3986 as OAuth wants it (RFC 5849 section 3.6): all but the unreserved characters.
 * `encodeURIComponent` leaves `! * ' ( )` as they are, and the signature would not match; and it throws at half of a character.
 */
export function percentEncode(text: string): string {
  // As most names and values are: a service encodes a dozen of them for each call.
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd")).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
