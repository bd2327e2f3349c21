/**
 * What every server of ours reads of a request's head in the same way. A head that two readers could understand
 * differently, such as a proxy and the server behind it, is refused. Pure.
 */

/** Headers that have one value, and that decide who asks, for whom, or what the body means. */
const SINGLE = ["Host", "Origin", "Authorization", "Cookie", "Content-Type"];
const SINGLE_LOWER = SINGLE.map((name) => name.toLowerCase());

/**
 * A header that may be given once and is given twice. Node keeps the first value of most of them, another reader
 * perhaps the last (RFC 9110, section 5.3). Two lengths never come so far: the HTTP parser refuses them.
 *
 * @param rawHeaders names and values in turn, as Node has them
 * @returns its name; null when there is none
 */
export function givenTwice(rawHeaders: readonly string[]): string | null {
  let seen = 0;
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const which = SINGLE_LOWER.indexOf((rawHeaders[place] ?? "").toLowerCase());
    if (which === -1) continue;
    if ((seen & (1 << which)) !== 0) return SINGLE[which] ?? null;
    seen |= 1 << which;
  }
  return null;
}

/** A request target in absolute form, taken apart. */
export type AbsoluteTarget = {
  /** In small letters. */
  scheme: string;
  /** Counts in place of the `Host` header (RFC 9112, section 3.2.2). */
  authority: string;
  /** Path and query; begins with a slash. */
  path: string;
};

/** @returns null for a target in any other form, such as a path */
export function absoluteTarget(target: string): AbsoluteTarget | null {
  if (target.startsWith("/")) return null;
  const [, scheme = "", authority = "", rest = ""] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^]*)$/i.exec(target) ?? [];
  if (scheme === "") return null;
  return { scheme: scheme.toLowerCase(), authority, path: rest.startsWith("/") ? rest : `/${rest}` };
}

/**
 * The name or address in a `Host` header, or in the authority of a target.
 *
 * @param authority perhaps with a port
 * @returns in small letters, IPv6 in its brackets; null when the text is anything else, such as two hosts or a user's name
 */
export function hostNameOf(authority: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^\s,@/?#\\:[\]]+)(?::\d{0,5})?$/i.exec(authority)?.[1]?.toLowerCase() ?? null;
}
