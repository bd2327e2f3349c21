/** Connections to the archive's database. */
import pg from "pg";
import { parse, toClientConfig } from "pg-connection-string";
import pgPass from "pgpass";
import { describeDatabase, withoutFiles } from "../../config/databaseUrl.ts";
import { ArchiveClient, CONNECT_TIMEOUT_MS, cut } from "./archiveClient.ts";
import { settleSession } from "./pooler.ts";
import { applySettings } from "./searchPath.ts";
import { settleTls, type Tls, tlsError, tlsOf } from "./tls.ts";

// Where neither the address nor PGPASSWORD has a password, `~/.pgpass` may, as for psql. The driver would look there too,
// and warn on the terminal that it does.
pg.defaults.password = (login?: object) =>
  new Promise<string>((resolve) => pgPass(login ?? {}, (password) => resolve(password ?? "")));

export const APPLICATION_NAME = "quotekeeper";

/** Longest statement of a reader: a slow page must not slow a poll. */
const READ_TIMEOUT_MS = 5_000;

/**
 * The settings of every session but its search path (searchPath.ts). Not at login (`options`), which pgbouncer refuses.
 *
 * JIT: on a server built with LLVM the views' many small branches are compiled at each call, for seconds, because tables
 * that were never analyzed look large; the work itself takes milliseconds.
 *
 * `quote_all_identifiers` and the three after it say what names, arrays and texts mean. The program was written for their
 * defaults alone, and a database or a role may have others.
 *
 * The last one is TimescaleDB's: it lets a statement change 100,000 compressed rows, and a rebuild or late bars of one day may be
 * more. Elsewhere nobody reads it.
 */
const SETTINGS = {
  TimeZone: "UTC",
  DateStyle: "ISO",
  // Counts and times come as doubles, which fewer digits would round.
  extra_float_digits: "1",
  IntervalStyle: "postgres",
  jit: "off",
  quote_all_identifiers: "off",
  array_nulls: "on",
  standard_conforming_strings: "on",
  transform_null_equals: "off",
  "timescaledb.max_tuples_decompressed_per_dml_transaction": "0",
};

const readOnlyFor = (readMs: number) => ({
  default_transaction_read_only: "on",
  statement_timeout: String(readMs),
});

const PLANNED_ONCE = { plan_cache_mode: "force_generic_plan" };

/** How long a connection is silent before the machine asks whether the other end is still there, in ms. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** OIDs whose values stay text: a Date would lose the microseconds, a number the digits. */
const TEXT_OIDS = new Set([20, 1082, 1114, 1184, 1700]);

/**
 * A pool whose sessions speak UTC, and whose times, dates, `numeric` and `bigint` come back as text.
 *
 * Its connections fail with QuotekeeperError DATABASE_POOLED behind a pooler in transaction mode, with DATABASE_TLS_FAILED where
 * the server has not the TLS that the address asks for, and with DATABASE_STRANGERS where calls might reach somebody else's functions.
 *
 * @param connectionString of the database; never printed
 * @param options.plannedOnce for few statements asked again and again: each is planned once per session
 * @param options.answerMs how long a statement may take before its connection is cut; connections stay open however long they are
 *   idle, because a far database takes seconds for a login
 * @param options.readOnly sessions that cannot write, and whose statements end after `readMs`; 0: never
 * @param options.settle what else each session is told before its first use
 * @param options.named gives an error of connecting another name. Default: its own
 * @throws QuotekeeperError CONFIG_INVALID when a file of certificates cannot be read
 */
export function createPool(
  connectionString: string,
  {
    max = 4,
    readOnly = false,
    readMs = READ_TIMEOUT_MS,
    plannedOnce = false,
    answerMs = 0,
    settle = doNothing,
    named = undefined as ((error: unknown) => unknown) | undefined,
  } = {},
): pg.Pool {
  const address = addressOf(connectionString);
  const login: pg.ClientConfig = {
    application_name: APPLICATION_NAME,
    ...address,
    // Said always: the driver would look at PGSSLMODE.
    ssl: false,
    // A server that vanished without a word (its power, a firewall) would hold a silent connection for ever.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  };
  const settings = { ...SETTINGS, ...(readOnly && readOnlyFor(readMs)), ...(plannedOnce && PLANNED_ONCE) };
  const pool = new ArchivePool(
    {
      ...login,
      max,
      ...(answerMs > 0 ? { idleTimeoutMillis: 0 } : {}),
      Client: ArchiveClient as unknown as new () => pg.ClientBase,
      onConnect: async (client) => {
        await settleSession(client, settings, () => pool.another());
        await settle(client);
      },
      types: {
        getTypeParser: ((oid: number, format?: "text" | "binary") =>
          TEXT_OIDS.has(oid)
            ? (text: string) => text
            : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
      },
    },
    {
      settings,
      tls: tlsOf(connectionString, login.host || "localhost"),
      shown: describeDatabase(connectionString),
      named,
    },
  );
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on("error", () => undefined);
  if (answerMs > 0) limitUse(pool, answerMs);
  return pool;
}

/**
 * Cuts connections that are in use for longer. Timers run before sockets are read: what has arrived while the process stood still
 * is read first, and keeps the connection.
 */
function limitUse(pool: pg.Pool, ms: number): void {
  const ends = new WeakMap<pg.PoolClient, () => void>();
  pool.on("acquire", (client) => {
    let last: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => (last = setImmediate(() => cut(client))), ms);
    ends.set(client, () => {
      clearTimeout(timer);
      clearImmediate(last);
    });
  });
  pool.on("release", (_error, client) => ends.get(client)?.());
}

async function doNothing(_client: pg.ClientBase): Promise<void> {}

export function addressOf(connectionString: string): pg.ClientConfig {
  return toClientConfig(parse(withoutFiles(connectionString), { useLibpqCompat: true }));
}

type OnClient = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** A pool's settings, its TLS, its address as messages show it, and what names its errors. */
type PoolTraits = {
  settings: Readonly<Record<string, string>>;
  tls: Tls | null;
  shown: string;
  named: ((error: unknown) => unknown) | undefined;
};

/** Agrees with the server about TLS before its first connection, and names errors of TLS. */
class ArchivePool extends pg.Pool {
  readonly #traits: PoolTraits;
  readonly #abandoned: AbortController;
  #settled: Promise<void> | null = null;

  constructor(options: pg.PoolConfig, traits: PoolTraits) {
    const abandoned = new AbortController();
    super({ ...options, abandoned: abandoned.signal } as pg.PoolConfig);
    this.#traits = traits;
    this.#abandoned = abandoned;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: OnClient): void;
  override connect(callback?: OnClient): Promise<pg.PoolClient> | void {
    const { tls, named } = this.#traits;
    if (tls === null && named === undefined) return callback ? super.connect(callback) : super.connect();
    const client = (tls === null ? super.connect() : this.#connectSafely(tls)).catch((error: unknown) => {
      throw named?.(error) ?? error;
    });
    if (callback === undefined) return client;
    client.then(
      (found) => callback(undefined, found, (release) => found.release(release as Error)),
      (error: Error) => callback(error, undefined, () => undefined),
    );
  }

  /** A connection to the same place outside the pool, without settings. */
  async another(): Promise<pg.Client> {
    const client = new ArchiveClient(this.options as pg.ClientConfig);
    await client.connect();
    return client;
  }

  /** A connection to the same place outside the pool, with the settings of its sessions. */
  async beside(): Promise<pg.Client> {
    const client = await this.another();
    try {
      await applySettings(client, this.#traits.settings);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  abandon(): void {
    this.#abandoned.abort();
  }

  async #connectSafely(tls: Tls): Promise<pg.PoolClient> {
    this.#settled ??= this.#settle(tls);
    try {
      await this.#settled;
    } catch (error) {
      // Next time the server may be there.
      this.#settled = null;
      throw error;
    }
    return super.connect().catch((error: unknown) => {
      throw tlsError(error, tls, this.#traits.shown);
    });
  }

  async #settle(tls: Tls): Promise<void> {
    const { host, port = 5432 } = this.options;
    this.options.ssl = await settleTls(
      tls,
      { host: host || "localhost", port, shown: this.#traits.shown },
      { timeoutMs: CONNECT_TIMEOUT_MS, signal: this.#abandoned.signal },
    );
  }
}

/** A connection outside a pool of `createPool` that has connected before, to the same place; the caller ends it. */
export function connectBeside(pool: pg.Pool): Promise<pg.Client> {
  return (pool as ArchivePool).beside();
}

/** Cuts all connections of a pool of `createPool`, also those that are being made: what waits for them fails at once. */
export function abandonConnections(pool: pg.Pool): void {
  (pool as ArchivePool).abandon();
}
