/** Connections to the archive's database, and what its errors mean. */
import pg from "pg";
import { QuotekeeperError } from "../errors.ts";

/** How connections are named in pg_stat_activity. */
export const APPLICATION_NAME = "quotekeeper";

/** Longest statement of a reader: a slow page must not slow a poll. */
export const READ_TIMEOUT_MS = 5_000;

/**
 * How long a connection may take, and how long a free one of the pool is waited for, in ms: a server that is busy on a
 * slow machine answers late, and is there all the same.
 */
const CONNECT_WITHIN_MS = 15_000;

const READ_ONLY = ` -c default_transaction_read_only=on -c statement_timeout=${READ_TIMEOUT_MS}`;

/**
 * On a server built with LLVM the views' many small branches are compiled at each call, for seconds, because tables that
 * were never analyzed look large; the work itself takes milliseconds.
 */
const NOT_COMPILED = " -c jit=off";

const PLANNED_ONCE = " -c plan_cache_mode=force_generic_plan";

/** How long a connection is silent before the machine asks whether the other end is still there, in ms. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** OIDs whose values stay text: a Date would lose the microseconds, a number the digits. */
const TEXT_OIDS = new Set([20, 1082, 1114, 1184, 1700]);

/**
 * A pool whose sessions speak UTC, and whose times, dates, `numeric` and `bigint` come back as text.
 *
 * @param connectionString of the database; never printed
 * @param options.plannedOnce for few statements asked again and again: each is planned once per session
 * @param options.lasting one connection that stays open however long it is idle, and is never replaced by another:
 *   something of its session is needed on
 * @param options.readOnly sessions that cannot write, and whose statements end after READ_TIMEOUT_MS
 */
export function createPool(
  connectionString: string,
  { max = 4, readOnly = false, plannedOnce = false, lasting = false } = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    ...(lasting ? { idleTimeoutMillis: 0, verify: onlyOnce() } : {}),
    // A server that vanished without a word (its power, a firewall) would hold a silent connection for ever.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    options: `-c TimeZone=UTC -c DateStyle=ISO${NOT_COMPILED}${readOnly ? READ_ONLY : ""}${plannedOnce ? PLANNED_ONCE : ""}`,
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        TEXT_OIDS.has(oid)
          ? (text: string) => text
          : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
    },
  });
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on("error", () => undefined);
  // So does one that breaks while it is in use: its query rejects, and then the client says it once more.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** Lets the first connection pass; what a second one finds is not what the first one left. */
function onlyOnce(): NonNullable<pg.PoolConfig["verify"]> {
  let connections = 0;
  return (_client, done) => {
    connections += 1;
    done(
      connections === 1
        ? undefined
        : new QuotekeeperError("DATABASE_UNREACHABLE", "the connection that held temporary tables broke"),
    );
  };
}

/** The database's address without user and password, for messages: `127.0.0.1:5432/quotekeeper`. */
export function describeDatabase(connectionString: string): string {
  try {
    const url = new URL(connectionString);
    return `${url.hostname || "localhost"}:${url.port || "5432"}${url.pathname}`;
  } catch {
    return "the configured database";
  }
}

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
