/** What the database's errors mean: their code of ours, and whether trying again can help. */
import { QuotekeeperError } from "../errors.ts";

/** Errors of a connection that never was or broke; node and pg report them without SQLSTATE. */
const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
]);

/**
 * Whether trying again can help: connection errors, and the SQLSTATE classes 08 (connection), 40 (rollback),
 * 53 (resources), 57 (operator intervention). PostgreSQL Appendix A.
 */
export function isRetryable(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  if (code === undefined) return /connection terminated|timeout|client has encountered/i.test(message ?? "");
  return CONNECTION_CODES.has(code) || /^(08|40|53|57)/.test(code);
}

/** An error of the database as DATABASE_UNREACHABLE or DATABASE_REFUSED, naming the address but no password. */
export function databaseError(error: unknown, address: string): QuotekeeperError {
  if (error instanceof QuotekeeperError) return error;
  const { code, message } = error as { code?: string; message?: string };
  const detail = `${address}: ${[code, message || (error as AggregateError).errors?.[0]?.message].filter(Boolean).join(" ")}`;
  return new QuotekeeperError(databaseErrorCode(error), detail, { cause: error });
}

/** Refusals that DATABASE_URL or its user are to blame for: 28 login, 3D no such database, 42501 no right to. */
const REFUSALS = /^(28|3D|42501)/;

function databaseErrorCode(error: unknown): "DATABASE_UNREACHABLE" | "DATABASE_REFUSED" | "DATABASE_FAILED" {
  if (isRetryable(error)) return "DATABASE_UNREACHABLE";
  const code = (error as { code?: string }).code ?? "";
  // Whatever has no SQLSTATE is of the network or of TLS, such as a name that does not resolve.
  return REFUSALS.test(code) || !/^[0-9A-Z]{5}$/.test(code) ? "DATABASE_REFUSED" : "DATABASE_FAILED";
}
