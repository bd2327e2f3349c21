/**
 * `DATABASE_URL` as text: what is accepted of libpq's connection URIs (PostgreSQL documentation, section 34.1.1.2), and
 * how it is shown without its secrets. Pure; nothing here reads a file or connects.
 */
import { parse } from "pg-connection-string";

/**
 * libpq's words for TLS that are accepted, and node-postgres' `no-verify`, which is `require` whatever `sslrootcert`
 * says.
 */
const SSL_MODES = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"] as const;

/**
 * The one accepted word of libpq's `require_auth`: a login in which both ends prove that they know the password, and
 * neither says it (RFC 5802).
 */
export const SCRAM = "scram-sha-256";

export type SslMode = (typeof SSL_MODES)[number];

const ENCODED =
  "expected special characters in user name and password percent-encoded, such as %2F for /, %40 for @ and %23 for #";

/**
 * What is wrong with an address, one sentence that shows no part of it, or null.
 *
 * A raw `/`, `?`, `#` or `@` in the password ends the part before the host too early: what follows it would be taken for
 * a host or a database, and be shown as one.
 */
export function databaseUrlProblem(url: string): string | null {
  const [, authority = "", rest = ""] = /^postgres(?:ql)?:\/\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  const [path = "", query = ""] = splitOnce(rest, "?");
  // The last `@` ends user and password.
  if (/,[^@]*$/.test(authority))
    return "expected one host: several, and the choice among them, are not supported";
  const atSigns = authority.split("@").length - 1;
  const misplaced =
    path.includes("@") ||
    rest.includes("#") ||
    (atSigns === 0 && /@/.test(query.replace(/(^|&)user=[^&]*/, "")));
  if (atSigns > 1 || misplaced) return ENCODED;
  try {
    decodeURIComponent(url);
    parse(withoutFiles(url), { useLibpqCompat: true });
  } catch {
    return ENCODED;
  }
  const mode = parameter(url, "sslmode");
  if (mode !== null && !isSslMode(mode))
    return `its sslmode is ${/^[a-z-]{1,20}$/.test(mode) ? `"${mode}"` : "unknown"}: expected one of ${SSL_MODES.join(", ")}`;
  const login = parameter(url, "require_auth");
  if (login !== null && login !== SCRAM)
    return `its require_auth is ${/^[a-z0-9!,-]{1,40}$/.test(login) ? `"${login}"` : "unknown"}: expected ${SCRAM}, the only one supported`;
  const rootCertificate = parameter(url, "sslrootcert");
  if (rootCertificate === "system" && mode !== null && mode !== "verify-full")
    return `its sslmode is "${mode}", and sslrootcert=system goes with verify-full alone`;
  if (mode === "verify-ca" && rootCertificate === null)
    return "its sslmode is verify-ca, which needs sslrootcert=FILE; verify-full trusts public authorities without one";
  return null;
}

/** Null where the address says nothing of TLS. `ssl=true` is the driver's word for verify-full. */
export function sslModeOf(url: string): SslMode | null {
  const mode = parameter(url, "sslmode");
  if (mode !== null) return isSslMode(mode) ? mode : null;
  const verified = parameter(url, "ssl") === "true" || parameter(url, "sslrootcert") === "system";
  return verified ? "verify-full" : null;
}

/** The address with an `sslmode` where it has none, as libpq reads PGSSLMODE. */
export function withSslMode(url: string, mode: string | undefined): string {
  if (!mode || parameter(url, "sslmode") !== null) return url;
  return `${url}${url.includes("?") ? "&" : "?"}sslmode=${encodeURIComponent(mode)}`;
}

/** The database's address without user and password, for messages: `127.0.0.1:5432/quotekeeper`. Without a database it is the user's own. */
export function describeDatabase(url: string): string {
  try {
    const { host, port, database, user } = parse(withoutFiles(url), { useLibpqCompat: true });
    return `${host || "localhost"}:${port || "5432"}/${database || user || ""}`;
  } catch {
    return "the configured database";
  }
}

/** The address for psql and Grafana: without password, and without what unlocks a key. */
export function withoutPassword(url: string): string {
  const [address = "", query] = splitOnce(url, "?");
  const open = address.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@");
  const kept = (query ?? "")
    .split("&")
    .filter((pair) => !/^[^=]*(password|passphrase|key)/i.test(pair) && pair !== "");
  return kept.length === 0 ? open : `${open}?${kept.join("&")}`;
}

/** The address without the parameters that name files, which `parse` would read, and those it has other words for. */
export function withoutFiles(url: string): string {
  const [address = "", query] = splitOnce(url, "?");
  const kept = (query ?? "")
    .split("&")
    .filter((pair) => !/^(ssl(mode|cert|key|rootcert)|uselibpqcompat)=/.test(pair));
  return `${address}?${kept.join("&")}`;
}

/** A decoded parameter of the address; null where it is absent. */
export function parameter(url: string, name: string): string | null {
  return new URLSearchParams(splitOnce(url, "?")[1] ?? "").get(name);
}

function isSslMode(word: string): word is SslMode {
  return (SSL_MODES as readonly string[]).includes(word);
}

function splitOnce(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
