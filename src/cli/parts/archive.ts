/** Opens the archive's database: the configured one, or the embedded one. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type pg from "pg";
import { createPool, databaseError, describeDatabase } from "../../archive/connect.ts";
import { openEmbedded } from "../../archive/embedded/server.ts";
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { QuotekeeperError } from "../../errors.ts";
import { ensureJournalDir } from "../../journal/data-dir.ts";

/** Connections for readers. */
const READERS = 2;

/** An open archive. */
export type Archive = {
  pool: pg.Pool;
  /** Host, port and database, for messages; no user, no password. */
  address: string;
  /** What to give psql or Grafana; holds no password. */
  readerUrl: string;
  /** A small pool of its own that can only read; the caller ends it. */
  openReader: () => pg.Pool;
  /** Whether it is the embedded server. */
  embedded: boolean;
  /** Brings the embedded server back if it went away; does nothing for another server. */
  revive: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Opens the archive. A configured server is not contacted yet: the first query does that.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE, EMBEDDED_*
 */
export async function openArchive(config: Config, clock: Clock): Promise<Archive> {
  if (config.databaseUrl !== null) {
    const { databaseUrl } = config;
    const pool = createPool(databaseUrl);
    return {
      pool,
      openReader: () => createPool(databaseUrl, { max: READERS, readOnly: true }),
      address: describeDatabase(config.databaseUrl),
      readerUrl: withoutPassword(config.databaseUrl),
      embedded: false,
      revive: () => Promise.resolve(),
      close: () => pool.end(),
    };
  }
  await ensureJournalDir(resolve(config.dataDir));
  const server = await openEmbedded(config.dataDir, clock);
  const pool = createPool(server.ownerUrl);
  return {
    pool,
    openReader: () => createPool(server.readerUrl, { max: READERS, readOnly: true }),
    address: describeDatabase(server.readerUrl),
    readerUrl: server.readerUrl,
    embedded: true,
    revive: server.revive,
    close: async () => {
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

/** Runs `work` with the archive open, closes it, and gives the database's errors their name. */
export async function withArchive<T>(
  config: Config,
  clock: Clock,
  work: (archive: Archive) => Promise<T>,
): Promise<T> {
  const archive = await openArchive(config, clock);
  try {
    return await work(archive);
  } catch (error) {
    if (error instanceof QuotekeeperError || !isDatabaseError(error)) throw error;
    throw databaseError(error, archive.address);
  } finally {
    await archive.close().catch(() => undefined);
  }
}

/** Errors of pg and of its sockets carry a code: an SQLSTATE or an errno. */
export function isDatabaseError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  return typeof code === "string" || /connection terminated|timeout exceeded/i.test(message ?? "");
}

function withoutPassword(connectionString: string): string {
  try {
    const url = new URL(connectionString);
    url.password = "";
    for (const name of [...url.searchParams.keys()])
      if (/password|passphrase|key/i.test(name)) url.searchParams.delete(name);
    return url.href;
  } catch {
    return describeDatabase(connectionString);
  }
}
