/** Which addresses are this machine's alone, and which `Host` headers may name them. Pure. */
import { isIP } from "node:net";
import { QuotekeeperError } from "../../errors.ts";

/** Whether an address to listen on is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

/**
 * Whether a request's `Host` names this machine. A page of somebody else's, whose name was made to resolve to 127.0.0.1
 * (DNS rebinding), sends its own name and is refused.
 */
export function namesLoopback(hostHeader: string | undefined): boolean {
  const match = /^(\[[0-9a-f:]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(hostHeader ?? "");
  return match?.[1] !== undefined && isLoopback(match[1]);
}

/** @throws QuotekeeperError WEB_TOKEN_MISSING for an address that others can reach, without a token */
export function requireToken(host: string, token: string | null): void {
  if (token !== null || isLoopback(host)) return;
  throw new QuotekeeperError(
    "WEB_TOKEN_MISSING",
    `QUOTEKEEPER_HTTP_HOST is ${host}, which other machines can reach, and QUOTEKEEPER_WEB_TOKEN is not set`,
  );
}
