/**
 * The embedded PostgreSQL as the programs of this project share it: the first one starts it, the others find it
 * running, and the last one to leave stops it.
 */
import { readFile, stat, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import type pg from "pg";
import { atMost, type Clock } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { addressOf, APPLICATION_NAME } from "../connect/connect.ts";
import { ArchiveClient } from "../connect/archiveClient.ts";
import { CANNOT_CONNECT_NOW, databaseError, isOutOfResources } from "../connect/databaseError.ts";
import { READER } from "../connect/fixedNames.ts";
import { settleReaderSettings } from "../schema/readerRole.ts";
import { type ClusterSettings, FORM, type Machine, MACHINE, SETTINGS_FILE } from "./cluster.ts";
import { type Cluster, freePort, startServer, stopServer } from "./programs.ts";
import { refuseCopy, readPidFile } from "./pidFile.ts";
import { prepareCluster } from "./prepareCluster.ts";
import { cachesOf } from "./reachable.ts";
import { OWNER, VIEWER } from "./roles.ts";
import { socketDir } from "./socketDir.ts";
import { failure } from "./space.ts";

export type EmbeddedServer = {
  /** Connection string of the owner; holds the password, for our own pool only. */
  ownerUrl: string;
  /** Connection string of our own reader; holds a password, and has connections that people's tools cannot take. */
  viewerUrl: string;
  /** Connection string for people's tools: read only, no secret in it. */
  readerUrl: string;
  /** Starts the server again if it went away. */
  revive: () => Promise<void>;
  close: () => Promise<void>;
};

export type EmbeddedOptions = {
  machine?: Machine;
  preparing?: Promise<Cluster> | undefined;
  patienceMs?: number | undefined;
};

/** Each program holds this advisory lock shared while it uses the server; the last one gets it alone. Readers may take no such lock. */
const IN_USE_LOCK = 0x71_6b_01;

/** How often a start that loses a race against another program looks again, and how long it waits between. */
const ATTEMPTS = 80;
const WAIT_MS = 250;

/** After so many failures it is no race any more: what a kill left of the old server may hold the new one up. */
const START_FAILURES = 20;

/**
 * Finds or starts the server of a data directory.
 *
 * @param options.preparing what `prepareCluster` gave, where it was called before
 * @param options.patienceMs how long a server that does not start is waited for; what keeps it is the answer of the next
 *   `revive`. Default: as long as it takes, and it is an error
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE, EMBEDDED_FAILED, EMBEDDED_COPIED, EMBEDDED_AS_ROOT, DISK_FULL, DATA_DIR_UNWRITABLE,
 *   DATABASE_TOO_OLD
 */
export async function openEmbedded(
  dataDir: string,
  clock: Clock,
  { machine = MACHINE, preparing, patienceMs }: EmbeddedOptions = {},
): Promise<EmbeddedServer> {
  const cluster = await (preparing ?? prepareCluster(dataDir, clock, machine));
  const host = await socketDir(cluster.dir, cachesOf(process.geteuid?.(), resolve(dataDir)));
  const settings = await readSettings(cluster.dir);
  const server = new SharedServer({ cluster, clock, machine, host }, settings);
  if (patienceMs === undefined) await server.revive();
  else await atMost(patienceMs, server.revive(), clock).catch((error: unknown) => requireMendable(error));
  return server;
}

/** A person can mend it while the program goes on: all but what keeps the server from this very user or directory. */
function requireMendable(error: unknown): void {
  const { code } = error as { code?: string };
  if (code !== "EMBEDDED_FAILED" && code !== "DISK_FULL") throw error;
}

/**
 * Finds the server of a data directory where it runs, for a look: it does not go on for it.
 *
 * @param signal cuts the search
 * @returns null: it does not run
 * @throws QuotekeeperError EMBEDDED_FAILED, DISK_FULL and what else the database says
 */
export async function findEmbedded(
  dataDir: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<EmbeddedServer | null> {
  const dir = join(resolve(dataDir), "postgres");
  const host = await socketDir(dir, cachesOf(process.geteuid?.(), resolve(dataDir)));
  for (;;) {
    const port = await runningPort(dir);
    if (port === null || signal.aborted) return null;
    const addresses = addressesOf({ ...(await readSettings(dir)), port }, host);
    const found = await connectOwner(addresses.ownerUrl, { dir, clock, abandoned: signal });
    if (found instanceof Error) throw databaseError(found, `the server in ${dir}, which runs`);
    if (found === null) return null;
    if (found !== "not yet") {
      await found.end().catch(() => undefined);
      return { ...addresses, revive: async () => undefined, close: async () => undefined };
    }
    await clock.sleep(WAIT_MS);
  }
}

function addressesOf({ port, ownerPassword, viewerPassword }: ClusterSettings, host: string) {
  const address = (user: string, password: string): string =>
    `postgresql://${user}:${password}@localhost:${port}/${OWNER}?host=${encodeURIComponent(host)}&require_auth=scram-sha-256`;
  return {
    ownerUrl: address(OWNER, ownerPassword),
    viewerUrl: address(VIEWER, viewerPassword),
    readerUrl: `postgresql://${READER}@127.0.0.1:${port}/${OWNER}`,
  };
}

/** What a server needs; `host` is the directory of its socket. */
type Parts = { cluster: Cluster; clock: Clock; machine: Machine; host: string };

class SharedServer implements EmbeddedServer {
  readonly #parts: Parts;
  #settings: ClusterSettings;
  /** Holds the in-use lock. */
  #holder: pg.Client | null = null;
  #reaching: Promise<void> | null = null;

  constructor(parts: Parts, settings: ClusterSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  get ownerUrl(): string {
    return this.#addresses.ownerUrl;
  }

  get viewerUrl(): string {
    return this.#addresses.viewerUrl;
  }

  get readerUrl(): string {
    return this.#addresses.readerUrl;
  }

  get #addresses(): ReturnType<typeof addressesOf> {
    return addressesOf(this.#settings, this.#parts.host);
  }

  readonly revive = (): Promise<void> =>
    (this.#reaching ??= this.#reach().finally(() => (this.#reaching = null)));

  readonly close = async (): Promise<void> => {
    if (await letGo(this.#holder)) await stopServer(this.#parts.cluster);
  };

  /** Connects to the server, started first if it does not run. */
  async #reach(): Promise<void> {
    await this.#holder?.end().catch(() => undefined);
    const { cluster, clock, machine } = this.#parts;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const running = await runningPort(cluster.dir);
      const found = running === null ? "absent" : await this.#find(running);
      if (found === "found") return;
      if (found instanceof Error) {
        // It runs, and has no room for this session or what it does: a start in its place would fail.
        if (attempt >= START_FAILURES) throw databaseError(found, `the server in ${cluster.dir}, which runs`);
        await clock.sleep(WAIT_MS);
        continue;
      }
      if (found === "not yet") {
        attempt = -1;
        await clock.sleep(WAIT_MS);
        continue;
      }
      await refuseCopy(cluster.dir);
      const started = await startServer(cluster, running ?? (await freePort(this.#settings.port)));
      if (!started.ok && attempt >= START_FAILURES) {
        const isThere = await serverRuns(cluster.dir, machine);
        const what = `the server in ${cluster.dir} ${isThere ? "runs, and takes no connection" : "does not start"}`;
        throw await failure(what, { dir: cluster.dir, output: started.output, free: machine.freeBytes });
      }
      if (!started.ok) await clock.sleep(WAIT_MS);
    }
    throw new QuotekeeperError(
      "EMBEDDED_FAILED",
      `the server in ${cluster.dir} does not answer on port ${this.#settings.port}`,
    );
  }

  async #find(port: number): Promise<"found" | "not yet" | "absent" | Error> {
    const { cluster, clock } = this.#parts;
    // Another program may have given it a form, and passwords, meanwhile.
    this.#settings = { ...(await readSettings(cluster.dir)), port };
    const client = await connectOwner(this.ownerUrl, { dir: cluster.dir, clock });
    if (client === "not yet" || client instanceof Error) return client;
    if (client === null) return "absent";
    this.#holder = client;
    return "found";
  }
}

/** @throws QuotekeeperError EMBEDDED_FAILED, DATABASE_TOO_OLD */
async function readSettings(dir: string): Promise<ClusterSettings> {
  const file = join(dir, SETTINGS_FILE);
  let settings: ClusterSettings;
  try {
    settings = JSON.parse(await readFile(file, "utf8")) as ClusterSettings;
  } catch (cause) {
    const detail = `${file}, which holds the port and passwords, cannot be read`;
    throw new QuotekeeperError("EMBEDDED_FAILED", detail, { cause });
  }
  if ((settings.form ?? 0) >= FORM) return settings;
  throw new QuotekeeperError("DATABASE_TOO_OLD", `${dir} is of an earlier form, whose owner was a superuser`);
}

/** Whether the server of a cluster runs. Starts and asks nothing. */
export async function serverRuns(clusterDir: string, { processes }: Machine = MACHINE): Promise<boolean> {
  const pid = Number((await readPidFile(clusterDir)).pid);
  return Number.isInteger(pid) && pid > 0 && processes.isRunning(pid);
}

/** The port of a server that is running, or was when the machine stopped. */
async function runningPort(dir: string): Promise<number | null> {
  const port = Number((await readPidFile(dir)).port);
  return Number.isInteger(port) && port > 0 ? port : null;
}

/**
 * A connection that holds the in-use lock, unless it can be abandoned; null when no server of this very cluster answers; the error of one that runs and
 * is out of disk, memory or connections.
 */
async function connectOwner(
  connectionString: string,
  { dir, clock, abandoned }: { dir: string; clock: Clock; abandoned?: AbortSignal },
): Promise<pg.Client | "not yet" | Error | null> {
  const client = new ArchiveClient({
    ...addressOf(connectionString),
    application_name: APPLICATION_NAME,
    ...(abandoned && { abandoned }),
  });
  try {
    await client.connect();
    // It needs no name but PostgreSQL's own.
    await client.query("set search_path = pg_catalog");
    if (!(await worksIn(dir, client, clock))) {
      // Another server has the port.
      await client.end();
      return null;
    }
    if (abandoned) return client;
    await client.query("select pg_advisory_lock_shared($1)", [IN_USE_LOCK]);
    await settleReaderSettings(client);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    if ((error as { code?: string }).code === CANNOT_CONNECT_NOW) return "not yet";
    return isOutOfResources(error) ? error : null;
  }
}

/**
 * Whether a server works in this very directory, and not in a copy of it, which has the same password. Its path does
 * not tell: it goes by several names (links, other separators and letters on Windows), and a server on Windows gives it
 * in an encoding of its own. So a file there gets a time by chance, and the server is asked for the time of its file.
 */
async function worksIn(dir: string, admin: pg.Client, clock: Clock): Promise<boolean> {
  const file = join(dir, SETTINGS_FILE);
  // Of the last four years, and even: that is how precise the times of some file systems are.
  const marked = Math.floor(clock.now().getTime() / 2_000) * 2 - 2 * randomBelow2to26(clock);
  await utimes(file, marked, marked);
  const asked = "select extract(epoch from modification)::float8 as seconds from pg_stat_file($1)";
  const { rows } = await admin.query<{ seconds: number }>(asked, [SETTINGS_FILE]);
  // Another program may ask at the same time, and has marked the file anew: then its mark is seen here too.
  const marks = [marked, Math.floor((await stat(file)).mtimeMs / 1000)];
  return marks.includes(Math.floor(rows[0]?.seconds ?? NaN));
}

function randomBelow2to26({ random }: Clock): number {
  return Buffer.from(random(4)).readUInt32BE() >>> 6;
}

/** Releases our shared lock. @returns whether no other program holds it */
async function letGo(holder: pg.Client | null): Promise<boolean> {
  if (holder === null) return false;
  try {
    await holder.query("select pg_advisory_unlock_shared($1)", [IN_USE_LOCK]);
    const { rows } = await holder.query<{ last: boolean }>("select pg_try_advisory_lock($1) as last", [
      IN_USE_LOCK,
    ]);
    return rows[0]?.last === true;
  } catch {
    // The server is gone already.
    return false;
  } finally {
    await holder.end().catch(() => undefined);
  }
}
