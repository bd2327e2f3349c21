/** The files of the embedded PostgreSQL: initdb, then roles and settings. */
import { chown, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { unwritable } from "../../journal/dataDir.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { type Processes, PROCESSES } from "../../ground/processes.ts";
import { READER } from "../connect/fixedNames.ts";
import { draftOf, sweepDeadDrafts } from "./drafts.ts";
import { type Cluster, freePort, run, runAlone, WINDOWS } from "./programs.ts";
import { OWNER, rolesSql, SUPERUSER, VIEWER } from "./roles.ts";
import { failure, freeBytes, type FreeBytes, requireRoom } from "./space.ts";

/** What is asked of the machine besides its files. */
export type Machine = { processes: Processes; freeBytes: FreeBytes };

export const MACHINE: Machine = { processes: PROCESSES, freeBytes };

/** The program's own roles log in with these; made of chance, and known from the settings' file alone. */
export type Passwords = Pick<ClusterSettings, "ownerPassword" | "viewerPassword">;

export type ClusterSettings = {
  port: number;
  ownerPassword: string;
  viewerPassword: string;
  /** See FORM; absent in a cluster of before there were forms. */
  form?: number;
};

/** The settings' file inside the cluster's directory, mode 600: it appears together with the cluster. */
export const SETTINGS_FILE = "quotekeeper.json";

/** The form of what stands here and in roles.ts. A cluster of an earlier one is not opened. */
export const FORM = 2;

/**
 * Who may connect, before all that somebody may have added. The program itself: through the socket, and with a password
 * that neither end says (SCRAM). People's tools: as the reader, without a password, so that the address that `start`
 * prints for psql and Grafana holds no secret. The superuser: nobody.
 */
const PG_HBA = `# Written by quotekeeper when it made this cluster.
${WINDOWS ? "host " : "local"}  all            ${OWNER}   ${WINDOWS ? "127.0.0.1/32  " : ""}scram-sha-256
${WINDOWS ? "host " : "local"}  ${OWNER}    ${VIEWER}  ${WINDOWS ? "127.0.0.1/32  " : ""}scram-sha-256
${WINDOWS ? "" : `local  ${OWNER}    ${READER}  trust\n`}host   ${OWNER}    ${READER}  127.0.0.1/32  trust
host   all            ${OWNER},${VIEWER},${SUPERUSER}  all  reject
local  all            ${SUPERUSER}  reject
`;

const SETTINGS = `
# Written by quotekeeper when it made this cluster; the port is given at each start, and the directory of the socket.
listen_addresses = '127.0.0.1'
max_connections = 60
shared_buffers = 128MB
log_min_messages = warning
log_checkpoints = off
# Against readers: the table of locks has room for all of them at all partitions, the queue of NOTIFY fills no disk.
max_locks_per_transaction = 256
max_notify_queue_pages = 64
authentication_timeout = 10s
`;

/** Port of a new cluster when it is free; otherwise any free one. */
const PREFERRED_PORT = 54_329;

/** Windows: a program's library is not there (STATUS_DLL_NOT_FOUND). */
const LIBRARY_MISSING = 0xc000_0135;

/** Whether a cluster is there, which then is whole: one rename brings it. */
export async function isMade(dir: string): Promise<boolean> {
  return (await stat(join(dir, "PG_VERSION")).catch(() => null)) !== null;
}

/**
 * Makes the cluster under another name and renames it when it is complete, so that a kill in the middle never
 * leaves half a cluster behind (drafts.ts).
 *
 * @throws QuotekeeperError DISK_FULL, DATA_DIR_UNWRITABLE, EMBEDDED_UNAVAILABLE, EMBEDDED_FAILED
 */
export async function initCluster(cluster: Cluster, passwords: Passwords, machine: Machine): Promise<void> {
  const { dir } = cluster;
  const draft = draftOf(dir, machine.processes);
  await sweepDeadDrafts(dir, machine.processes);
  await requireRoom(dirname(dir), machine.freeBytes);
  try {
    const settings = { port: await freePort(PREFERRED_PORT), ...passwords, form: FORM };
    await fillDraft({ ...cluster, dir: draft }, { dir, settings, free: machine.freeBytes });
    // Windows renames over no directory, not even over an empty one.
    await rmdir(dir).catch(() => undefined);
    await rename(draft, dir);
  } catch (cause) {
    // Another program made it in the meantime, and has swept this draft away perhaps: its cluster is as good.
    if (await isMade(dir)) return;
    throw cause instanceof QuotekeeperError ? cause : unwritable(dir, cause);
  } finally {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** @param options.dir where the cluster is to be, for messages */
async function fillDraft(
  draft: Cluster,
  { dir, settings, free }: { dir: string; settings: ClusterSettings; free: FreeBytes },
): Promise<void> {
  const { runAs, binaries } = draft;
  const requireDone = async (what: string, { code, output }: { code: number; output: string }) => {
    if (code !== 0) throw await failure(what, { dir: dirname(dir), output, free });
  };
  await makeDirectories(draft.dir, 0o700);
  if (runAs.owner) await chown(draft.dir, runAs.owner.uid, runAs.owner.gid);
  const made = await run(draft, binaries.initdb, {
    args: [
      `--pgdata=${draft.dir}`,
      `--username=${SUPERUSER}`,
      "--auth=reject",
      "--encoding=UTF8",
      "--locale=C",
      "--no-instructions",
    ],
  });
  if (made.code === LIBRARY_MISSING)
    throw new QuotekeeperError(
      "EMBEDDED_UNAVAILABLE",
      `${binaries.initdb} lacks a library: install the Microsoft Visual C++ Redistributable`,
    );
  await requireDone(`initdb in ${dir} ended with ${made.code}`, made);
  // It cannot be made within a transaction.
  const database = await runAlone(draft, "template1", `create database ${OWNER}`);
  await requireDone(`making the database of ${dir}`, database);
  await requireDone(`settling the roles of ${dir}`, await runAlone(draft, OWNER, rolesSql(settings)));
  await writeFile(join(draft.dir, "postgresql.conf"), SETTINGS, { flag: "a", flush: true });
  await writeFile(join(draft.dir, "pg_hba.conf"), PG_HBA, { flush: true });
  const file = join(draft.dir, SETTINGS_FILE);
  await writeFile(file, JSON.stringify(settings), { mode: 0o600, flag: "wx", flush: true });
  if (runAs.owner === null) return;
  // The program's passwords are for the owner of the data directory, who need not be the server's user.
  const { uid, gid } = await stat(dirname(dir));
  await chown(file, uid, gid);
}
