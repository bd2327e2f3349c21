/** What the database's errors mean: their code of ours, and whether trying again can help. */
import { type ErrorCode, QuotekeeperError } from "../../ground/errors.ts";

/** Codes of a database that answers and cannot take the archive until a person changes something. */
const PROBLEMS = [
  "DATABASE_OCCUPIED",
  "DATABASE_READ_ONLY",
  "DATABASE_RIGHTS_MISSING",
  "DATABASE_STRANGERS",
] as const;

type ProblemCode = (typeof PROBLEMS)[number];

/** Codes of errors that are made on a connection, which does not know its address. */
const WITHOUT_ADDRESS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([...PROBLEMS, "DATABASE_UNREACHABLE"]);

/** 25006 read_only_sql_transaction. PostgreSQL Appendix A. */
export const READ_ONLY = "25006";

/** 42501 insufficient_privilege; 3F000 invalid_schema_name: no schema of the search path may be used. */
const RIGHTS_MISSING = new Set(["42501", "3F000"]);

/** SQLSTATE cannot_connect_now: the server starts, perhaps recovers from a crash, or stops. */
export const CANNOT_CONNECT_NOW = "57P03";

/**
 * Errors of a connection that broke, without SQLSTATE. Of one that never was, the system call tells (CONNECTING). The last two are
 * our own names for such an error.
 */
const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "EMBEDDED_ENDED",
  "DATABASE_UNREACHABLE",
]);

/** Calls of the system that make a connection: whatever fails in them, a name that does not resolve too, is of the network. */
const CONNECTING = new Set(["connect", "getaddrinfo"]);

/** What pg says of a connection that broke or does not answer, without a code. */
const CONNECTION_WORDS = /connection terminated|timeout|client (has encountered|was closed)/i;

/** What pg says, without a code, if the two ends do not agree about a password; NO_PASSWORD is one such case. */
const LOGIN_WORDS = /^SASL: /;
const NO_PASSWORD = /^SASL: .*client password must be/;

/** Errors of pg carry an SQLSTATE, those of its sockets an errno, and pg's own about a connection only words. */
export function isDatabaseError(error: unknown): boolean {
  const { code, message = "" } = error as { code?: unknown; message?: string };
  return typeof code === "string" || CONNECTION_WORDS.test(message) || LOGIN_WORDS.test(message);
}

/**
 * Whether trying again can help: connection errors, and the SQLSTATE classes 08 (connection), 40 (rollback),
 * 53 (resources), 57 (operator intervention), and 25P03 (a transaction paused for too long). PostgreSQL Appendix A.
 */
export function isRetryable(error: unknown): boolean {
  const { code, message, syscall } = error as { code?: string; message?: string; syscall?: string };
  if (code === undefined) return CONNECTION_WORDS.test(message ?? "");
  return CONNECTION_CODES.has(code) || CONNECTING.has(syscall ?? "") || /^(08|40|53|57|25P03)/.test(code);
}

/** Whether a server that runs has no disk, memory or connection left: SQLSTATE class 53. PostgreSQL Appendix A. */
export function isOutOfResources(error: unknown): error is Error {
  return error instanceof Error && sqlstateOf(error).startsWith("53");
}

/** The code of a database that answers and cannot take the archive; null for any other error. */
export function problemCodeOf(error: unknown): ProblemCode | null {
  const code = sqlstateOf(error);
  if (code === READ_ONLY) return "DATABASE_READ_ONLY";
  return RIGHTS_MISSING.has(code)
    ? "DATABASE_RIGHTS_MISSING"
    : (PROBLEMS.find((one) => one === code) ?? null);
}

/** An error of the database under its code of ours, naming the address but no password. */
export function databaseError(error: unknown, address: string): QuotekeeperError {
  if (error instanceof QuotekeeperError) return withAddress(error, address);
  const { code, message, syscall } = error as { code?: string; message?: string; syscall?: string };
  const words = NO_PASSWORD.test(message ?? "")
    ? "the server wants a password, and there is none in DATABASE_URL, PGPASSWORD and ~/.pgpass"
    : syscall === "getaddrinfo" && `the resolver of this machine does not find the host's name (${code})`;
  const text = words || message || (error as AggregateError).errors?.[0]?.message;
  // Node's own messages name their code.
  const detail = [text?.includes(code ?? "") ? undefined : code, text].filter(Boolean).join(" ");
  return new QuotekeeperError(databaseErrorCode(error), `${address}: ${detail}`, { cause: error });
}

function withAddress(error: QuotekeeperError, address: string): QuotekeeperError {
  const { code, detail, cause } = error;
  if (!WITHOUT_ADDRESS.has(code) || detail.startsWith(`${address}: `)) return error;
  return new QuotekeeperError(code, `${address}: ${detail}`, { cause });
}

/** Refusals that DATABASE_URL is to blame for: 28 login, 3D no such database. */
const REFUSALS = /^(28|3D)/;

/**
 * 42P05 duplicate_prepared_statement, 26000 invalid_sql_statement_name: a statement that we prepared stands in another
 * server process than before. A pooler in transaction mode was not recognised by pooler.ts.
 */
const POOLED = new Set(["42P05", "26000"]);

/** 53100 disk_full, of the server's disk. */
const NO_SPACE = "53100";

/** 57014 query_canceled: a statement took longer than it may, or a person ended it. */
const CANCELLED = "57014";

/**
 * Trouble of the server's own: 53 insufficient resources, 58 system error, F0 its configuration, XX internal error, damaged data.
 * An upgrade of its files below a running server is 58P01.
 */
const SERVERS_OWN = /^(53|58|F0|XX)/;

function databaseErrorCode(error: unknown): ErrorCode {
  const code = sqlstateOf(error);
  if (code === NO_SPACE) return "DISK_FULL";
  if (SERVERS_OWN.test(code)) return "DATABASE_TROUBLED";
  if (POOLED.has(code)) return "DATABASE_POOLED";
  if (code === CANCELLED) return "DATABASE_SLOW";
  if (isRetryable(error)) return "DATABASE_UNREACHABLE";
  const problem = problemCodeOf(error);
  if (problem !== null) return problem;
  // Whatever has no SQLSTATE is of the login or of TLS.
  return REFUSALS.test(code) || !/^[0-9A-Z]{5}$/.test(code) ? "DATABASE_REFUSED" : "DATABASE_FAILED";
}

/** What keeps a start from collecting: a wrong address or login, which a server locks out, another version's schema, or a defect. */
const STOPS_A_START: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CONFIG_INVALID",
  "DATABASE_REFUSED",
  "DATABASE_TLS_FAILED",
  "DATABASE_POOLED",
  "DATABASE_NEWER",
  "DATABASE_TOO_OLD",
  "MIGRATION_CHANGED",
  "UNEXPECTED",
]);

/** Whether collecting goes on into the journal meanwhile: docs/decisions/database-down-at-start.md. */
export function collectingGoesOn({ code }: QuotekeeperError): boolean {
  return !STOPS_A_START.has(code);
}

export function sqlstateOf(error: unknown): string {
  return (error as { code?: string }).code ?? "";
}

/**
 * SQLSTATEs of two transactions in each other's way: 40001 (serialization failure), 40P01 (deadlock). The loader's
 * own locks have one order; those of other programs, and of halves after a refused row, may not.
 */
export const IN_EACH_OTHERS_WAY = new Set(["40001", "40P01"]);
