/** Opens the archive's database: the configured one, or the embedded one. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type pg from "pg";
import { abandonConnections, createPool } from "./connect/connect.ts";
import { CANNOT_CONNECT_NOW, databaseError, isDatabaseError } from "./connect/databaseError.ts";
import { explain } from "./connect/explain.ts";
import { currentVersion } from "./schema/migrations.ts";
import {
  type EmbeddedOptions,
  type EmbeddedServer,
  findEmbedded,
  openEmbedded,
} from "./embedded/embeddedServer.ts";
import { createReaderPool, endReaders, settleReaderSettings, watching } from "./schema/readerRole.ts";
import { atMost, type Clock } from "../ground/clock.ts";
import { describeDatabase, withoutPassword } from "../config/databaseUrl.ts";
import type { Config } from "../config/loadEnvironment.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { type Edges, Interrupted, READER_GONE } from "../ground/edges.ts";

const READERS = 2;

/** How often readers whose statements last too long are looked for. */
const END_READERS_EVERY_MS = 5_000;

/** How long an end waits for statements under way, in ms, before their connections are cut. */
const END_MS = 300;

/**
 * Ends a pool of `createPool`, however slow its database is; never throws.
 *
 * @param end what ends it, and whatever hangs on it. Default: the pool's own end
 */
export async function endPool(
  pool: pg.Pool,
  clock: Pick<Clock, "sleep">,
  end: () => Promise<void> = () => pool.end(),
): Promise<void> {
  const ended = end().catch(() => undefined);
  await atMost(END_MS, ended, clock);
  abandonConnections(pool);
  await ended;
}

/** A reader's statements end after 5 s; a connection whose answer went lost on its way would wait for good. */
const READER_ANSWER_MS = 10_000;

/** The connections for leases: three rounds, a look and a claim may wait for a slow answer, each for 5 s. */
const LEASES = { max: 5, answerMs: 5_000 };

export type Archive = {
  pool: pg.Pool;
  /** Host, port and database, for messages; no user, no password. */
  address: string;
  /** What to give psql or Grafana; holds no password. */
  readerUrl: string;
  /** A small pool of its own whose sessions are the reader's (`createReaderPool`); the caller ends it. */
  openReader: (options?: { plannedOnce: boolean }) => pg.Pool;
  /** Connections for the leases, whose statements wait for no other's, and not for long; the caller ends it. */
  openLeases: () => pg.Pool;
  embedded: boolean;
  /** Brings the embedded server back if it went away; does nothing for another server. */
  revive: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Opens the archive. A configured server is not contacted yet: the first query does that.
 *
 * @param embedding how the embedded one is opened
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE, DISK_FULL, EMBEDDED_*
 */
export async function openArchive(
  config: Config,
  clock: Clock,
  embedding?: EmbeddedOptions,
): Promise<Archive> {
  const { databaseUrl: ownerUrl } = config;
  if (ownerUrl === null)
    return archiveOn(await openEmbedded(config.dataDir, clock, embedding), { embedded: true, clock });
  const viewerUrl = config.databaseReaderUrl ?? ownerUrl;
  const nothing = (): Promise<void> => Promise.resolve();
  const server = {
    ownerUrl,
    viewerUrl,
    readerUrl: withoutPassword(viewerUrl),
    revive: nothing,
    close: nothing,
  };
  return archiveOn(server, { embedded: false, clock });
}

/**
 * Opens the archive for a look: no server is started for it, and none goes on for it.
 *
 * @param signal cuts a search for the embedded server
 * @returns null: the embedded server does not run
 */
export async function openRunning(
  config: Config,
  clock: Clock,
  signal: AbortSignal,
): Promise<Archive | null> {
  if (config.databaseUrl !== null) return openArchive(config, clock);
  const server = await findEmbedded(config.dataDir, clock, signal);
  return server && archiveOn(server, { embedded: true, clock });
}

type Server = Pick<EmbeddedServer, "ownerUrl" | "viewerUrl" | "readerUrl" | "revive" | "close">;

/** How long an embedded server that ended may take until a person is called for, in ms. */
const COMES_BACK_MS = 60_000;

/**
 * Brings an embedded server back as soon as a connection is refused.
 *
 * @param start starts it again
 */
function reviver(start: () => Promise<void>, shown: () => string, { monotonicMs }: Clock) {
  let starting: Promise<void> | null = null;
  let refusedAtMs: number | null = null;
  /** Why it did not start last. */
  let failure: QuotekeeperError | null = null;
  const revive = (): Promise<void> =>
    (starting ??= start()
      .then(
        () => void ([refusedAtMs, failure] = [null, null]),
        (error: unknown) => {
          failure = databaseError(error, shown());
          throw error;
        },
      )
      .finally(() => (starting = null)));
  const named = (cause: unknown): unknown => {
    const { code, syscall } = cause as { code?: string; syscall?: string };
    if (syscall !== "connect" && code !== CANNOT_CONNECT_NOW) return cause;
    refusedAtMs ??= monotonicMs();
    revive().catch(() => undefined);
    if (failure) return failure;
    const lasts = monotonicMs() - refusedAtMs >= COMES_BACK_MS;
    const what = lasts
      ? `has been away for over ${COMES_BACK_MS / 1_000} s`
      : "does not run, and is being started";
    return new QuotekeeperError(
      lasts ? "EMBEDDED_FAILED" : "EMBEDDED_ENDED",
      `${shown()}: the embedded server ${what}`,
      { cause },
    );
  };
  return { revive, named };
}

function archiveOn(server: Server, { embedded, clock }: { embedded: boolean; clock: Clock }): Archive {
  const pools: { pool: pg.Pool; url: "ownerUrl" | "viewerUrl" }[] = [];
  const kept = (url: "ownerUrl" | "viewerUrl", pool: pg.Pool): pg.Pool => {
    pools.push({ pool, url });
    return pool;
  };
  const shown = (): string => describeDatabase(embedded ? server.readerUrl : server.ownerUrl);
  let closed = false;
  const start = async (): Promise<void> => {
    if (closed) return;
    await server.revive();
    // It may have another port: somebody else took the one it had, or started it anew.
    for (const { pool: each, url } of pools) each.options.connectionString = server[url];
  };
  const { revive, named } = reviver(start, shown, clock);
  const own = embedded ? { named } : {};
  const pool = kept("ownerUrl", createPool(server.ownerUrl, own));
  const unwatch = watching(async () => {
    await endReaders(pool);
    if (embedded) await settleReaderSettings(pool);
  }, END_READERS_EVERY_MS);
  return {
    pool,
    openReader: (options) =>
      kept(
        "viewerUrl",
        createReaderPool(server.viewerUrl, { max: READERS, answerMs: READER_ANSWER_MS, ...own, ...options }),
      ),
    openLeases: () => kept("ownerUrl", createPool(server.ownerUrl, { ...LEASES, ...own })),
    get address() {
      return shown();
    },
    get readerUrl() {
      return server.readerUrl;
    },
    embedded,
    revive: () => (embedded ? revive() : Promise.resolve()),
    close: async () => {
      closed = true;
      unwatch();
      await pool.end();
      await server.close();
    },
  };
}

/** Whether there is an archive to look into: commands that only read do not make one. */
export async function archiveExists(config: Config): Promise<boolean> {
  if (config.databaseUrl !== null) return true;
  return (await stat(join(resolve(config.dataDir), "postgres", "PG_VERSION")).catch(() => null)) !== null;
}

/** For commands that only read. @throws QuotekeeperError ARCHIVE_EMPTY where there is no archive yet */
export async function requireArchive(config: Config): Promise<void> {
  if (await archiveExists(config)) return;
  throw new QuotekeeperError("ARCHIVE_EMPTY", `${resolve(config.dataDir)} holds no archive yet`);
}

/** `withArchive` of a database. @throws QuotekeeperError ARCHIVE_EMPTY for one that was never migrated */
export async function withSchema<T>(
  config: Config,
  edges: Parameters<typeof withArchive>[1],
  work: (archive: Archive) => Promise<T>,
): Promise<T> {
  return withArchive(config, edges, async (archive) => {
    if ((await currentVersion(archive.pool)) === 0)
      throw new QuotekeeperError("ARCHIVE_EMPTY", `${archive.address} holds no archive yet`);
    return work(archive);
  });
}

/**
 * Runs `work` with the archive open, closes it, and gives the database's errors their name.
 *
 * @param edges.onInterrupt with it, Ctrl-C closes the archive as well: an embedded server is not left behind
 * @throws Interrupted after Ctrl-C
 */
export async function withArchive<T>(
  config: Config,
  { clock, onInterrupt = () => () => undefined }: Pick<Edges, "clock"> & Partial<Pick<Edges, "onInterrupt">>,
  work: (archive: Archive) => Promise<T>,
): Promise<T> {
  let stopListening = (): void => undefined;
  const interrupted = new Promise<never>((_resolve, reject) => {
    stopListening = onInterrupt((signal) => {
      // Whoever stopped reading the results has not asked for less work.
      if (signal !== READER_GONE) reject(new Interrupted(signal));
    });
  });
  // It may come while the archive opens, when nobody waits for it yet.
  interrupted.catch(() => undefined);
  let archive: Archive;
  try {
    archive = await openArchive(config, clock);
  } catch (error) {
    stopListening();
    throw error;
  }
  try {
    return await Promise.race([interrupted, work(archive)]);
  } catch (error) {
    // A statement that waits, for a lock perhaps, or a server that is silent would hold the closing up.
    if (error instanceof Interrupted) abandonConnections(archive.pool);
    if (!isDatabaseError(error)) throw error;
    throw databaseError(await explain(archive.pool, error), archive.address);
  } finally {
    await archive.close().catch(() => undefined);
    stopListening();
  }
}
