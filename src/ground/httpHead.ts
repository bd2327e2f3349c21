/**
 * How every server of ours reads the head of a request. A head that two readers could understand differently, such as a
 * proxy and the server behind it, is refused. Pure.
 */

/** Single-valued headers that say who asks, for whom, or what the body means. */
const SINGLE = ["Host", "Origin", "Authorization", "Cookie", "Content-Type"];
const SINGLE_LOWER = SINGLE.map((name) => name.toLowerCase());

/**
 * The name of a single-valued header that is given twice; null when there is none. Node keeps the first value of most
 * of them, another reader perhaps the last (RFC 9110, section 5.3). The HTTP parser itself refuses two lengths.
 *
 * @param rawHeaders names and values in turn, as Node has them
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

export type AbsoluteTarget = {
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
 * @returns lower case, IPv6 in its brackets; null for any other text, such as two hosts or a user's name
 */
export function hostNameOf(authority: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^\s,@/?#\\:[\]]+)(?::\d{0,5})?$/i.exec(authority)?.[1]?.toLowerCase() ?? null;
}
