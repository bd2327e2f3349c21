/** Which addresses are this machine's alone, and by which names and from which pages the dashboard may be asked. Pure. */
import { isIP } from "node:net";
import { QuotekeeperError } from "../../ground/errors.ts";
import { hostNameOf } from "../../ground/httpHead.ts";

/** Whether an address to listen on is reached from this machine alone. */
function isLoopback(host: string): boolean {
  const name = bare(host.toLowerCase());
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/** By what the dashboard may be called besides this machine's own names. */
type Names = {
  /** Names, in small letters. */
  names: readonly string[];
  /** Whether by any IP address too. */
  addresses: boolean;
};

/**
 * Whether a request calls the dashboard by a name of its own. A page of somebody else's, whose name was made to resolve
 * to this machine (DNS rebinding), sends its own name and is refused.
 *
 * @param host the host that counts: a name or address, perhaps with a port
 */
export function isOurName(host: string | undefined, { names, addresses }: Names): boolean {
  const name = hostNameOf(host ?? "");
  if (name === null) return false;
  return isLoopback(name) || names.includes(name) || (addresses && isIP(bare(name)) !== 0);
}

/**
 * Whether a page of another server makes the request: browsers name it in `Origin`, with every POST at least.
 *
 * @param host the host that counts. A proxy may have put another in its place: then the page's own is one of `names`.
 */
export function isForeign(
  origin: string | undefined,
  host: string | undefined,
  names: readonly string[],
): boolean {
  if (origin === undefined) return false;
  if (!URL.canParse(origin)) return true;
  const page = new URL(origin).host;
  return page !== host?.toLowerCase() && !names.includes(page);
}

/** @throws QuotekeeperError WEB_TOKEN_MISSING for an address that others can reach, without a token */
export function requireToken(host: string, token: string | null): void {
  if (token !== null || isLoopback(host)) return;
  throw new QuotekeeperError(
    "WEB_TOKEN_MISSING",
    `QUOTEKEEPER_HTTP_HOST is ${host}, which other machines can reach, and QUOTEKEEPER_WEB_TOKEN is not set`,
  );
}

/** An IPv6 address without its brackets. */
function bare(name: string): string {
  return name.replace(/^\[|\]$/g, "");
}
