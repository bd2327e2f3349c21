/** What the errors of sockets, of TLS and of the HTTP client mean. */
import { type ErrorCode, QuotekeeperError } from "../../errors.ts";

/** Codes of OpenSSL's verification as Node.js names them, and Node's own for a certificate of another name. */
const CERTIFICATE =
  /^(CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT|ERR_TLS_CERT|HOSTNAME_|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;

const TIMEOUT = /TIMEOUT|ETIMEDOUT/;

/** The answer had begun, or the request was on its way: the socket closed, more or fewer bytes came than were announced. */
const CUT_SHORT =
  /^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|EPIPE|HPE_INVALID_EOF_STATE)$/;

const NOT_HTTP = /^(HPE_|UND_ERR_HEADERS_OVERFLOW)/;

/**
 * A transport error by its code, never by its message. Nothing of the library's own error is passed on but its code: it
 * may hold the request with its Authorization header.
 *
 * @param address scheme, host and port of the service; named in the error, without path and query
 */
export function transportError(cause: unknown, address: string): QuotekeeperError {
  if (cause instanceof QuotekeeperError) return cause;
  const code = codeOf(cause);
  return new QuotekeeperError(errorCode(code), `${address}: ${inWords(code)}`);
}

/** The code of an error, of the first of several (one for each address of a host), or at least its name. */
function codeOf(error: unknown): string {
  const { code, name, errors } = error as { code?: string; name?: string; errors?: { code?: string }[] };
  return code ?? errors?.[0]?.code ?? name ?? "unknown error";
}

function errorCode(code: string): ErrorCode {
  if (CERTIFICATE.test(code)) return "SERVICE_UNTRUSTED";
  if (CUT_SHORT.test(code)) return "SERVICE_CUT_SHORT";
  return TIMEOUT.test(code) ? "SERVICE_TIMEOUT" : "SERVICE_UNREACHABLE";
}

function inWords(code: string): string {
  if (CERTIFICATE.test(code)) return `its certificate is not trusted (${code})`;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return `no connection in time (${code})`;
  if (CUT_SHORT.test(code)) return `the connection ended before the answer did (${code})`;
  return NOT_HTTP.test(code) ? `what came is not HTTP (${code})` : code;
}
