/**
 * TLS to the database as libpq's words have it (PostgreSQL documentation, section 34.19). The driver's own reading of
 * them verifies where libpq does not, warns on the terminal, and knows no way back from `prefer`.
 */
import { connect } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { parameter, type SslMode, sslModeOf } from "../../config/databaseUrl.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { asLookup, hostAddresses } from "../../ground/hostAddresses.ts";
import { readTextFileSync } from "../../ground/plainFiles.ts";

export type Tls = { mode: SslMode; options: TlsOptions };

/** Hosts of which a connection does not leave this machine. */
const THIS_MACHINE = /^(localhost|127\.[\d.]+|::1)$/;

/**
 * The TLS of an address. Without a word it is `prefer`, as libpq's, but on this machine none: that would cost the
 * loader time and keep nothing from anybody.
 *
 * @param host what the address names, as the driver reads it; a directory is that of a Unix socket, which has no TLS
 * @returns null for none
 * @throws QuotekeeperError CONFIG_INVALID when a file it names cannot be read
 */
export function tlsOf(url: string, host: string): Tls | null {
  const mode = sslModeOf(url) ?? (THIS_MACHINE.test(host) ? "disable" : "prefer");
  if (mode === "disable" || host.startsWith("/")) return null;
  const file = (name: string): string | undefined => {
    const path = parameter(url, name);
    // libpq's word for the authorities that the machine trusts.
    if (path === null || path === "system") return undefined;
    try {
      return readTextFileSync(path).text;
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? "unknown error";
      const problem = `DATABASE_URL names ${path} as ${name}, which cannot be read (${reason})`;
      throw new QuotekeeperError("CONFIG_INVALID", problem, { cause });
    }
  };
  const ca = file("sslrootcert");
  const [cert, key] = [file("sslcert"), file("sslkey")];
  return {
    mode,
    options: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), ...checks(mode, ca) },
  };
}

function checks(mode: SslMode, ca: string | undefined): TlsOptions {
  if (mode === "verify-full") return {};
  // With an authority given, `require` is verify-ca: "for backward compatibility", section 34.19.1.
  if (mode === "verify-ca" || (mode === "require" && ca !== undefined))
    return { checkServerIdentity: () => undefined };
  return { rejectUnauthorized: false };
}

/** SSLRequest: its length, and the number that no version of the protocol has (section 55.7). */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** How long an answer is waited for; no longer once the signal is aborted. */
type Patience = { timeoutMs: number; signal: AbortSignal };

/**
 * Whether the server offers TLS: one byte on a connection of its own.
 *
 * @throws QuotekeeperError DATABASE_UNREACHABLE when it does not say; the socket's errors as they are
 */
function offersTls(
  { host, port }: { host: string; port: number },
  { timeoutMs, signal }: Patience,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const lookup = asLookup(hostAddresses);
    const socket = connect({ port, host, lookup }, () => socket.write(SSL_REQUEST));
    // Node's own option for it leaves its listener with the signal, one for each attempt.
    const abandon = (): void => void socket.destroy(signal.reason as Error);
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    const silent = new QuotekeeperError("DATABASE_UNREACHABLE", "the server does not answer");
    const closed = new QuotekeeperError("DATABASE_UNREACHABLE", "the connection ended at once");
    socket.setTimeout(timeoutMs, () => socket.destroy(silent));
    socket.once("data", ([answer]) => {
      socket.destroy();
      resolve(answer === "S".charCodeAt(0));
    });
    socket.once("error", reject);
    socket.once("close", () => {
      signal.removeEventListener("abort", abandon);
      reject(closed);
    });
  });
}

/**
 * What the server and the wish for TLS come to.
 *
 * @returns options for the driver, or false for a connection without TLS, which `prefer` takes where none is offered
 * @throws QuotekeeperError DATABASE_TLS_FAILED when it offers none and the mode insists; the socket's errors as they are
 */
export async function settleTls(
  { mode, options }: Tls,
  server: { host: string; port: number; shown: string },
  patience: Patience,
): Promise<TlsOptions | false> {
  if (await offersTls(server, patience)) return options;
  if (mode === "prefer") return false;
  throw new QuotekeeperError(
    "DATABASE_TLS_FAILED",
    `${server.shown}: sslmode=${mode} asks for TLS, and the server offers none`,
  );
}

/** An error of a connection with TLS, named if it is about the certificate; others as they are. */
export function tlsError(error: unknown, { mode }: Tls, shown: string): unknown {
  const { code, message } = error as { code?: string; message?: string };
  if (
    !/^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|ERR_OSSL|HOSTNAME_|EPROTO)/.test(
      code ?? "",
    )
  )
    return error;
  const detail = `${shown}: sslmode=${mode} does not come to an agreement with the server: ${code} ${message}`;
  return new QuotekeeperError("DATABASE_TLS_FAILED", detail, { cause: error });
}
