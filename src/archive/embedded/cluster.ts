/** The files of the embedded PostgreSQL: initdb, then roles and settings. */
import { chown, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
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
  /** See FORM; absent in a cluster of a release before. */
  form?: number;
};

/** The settings' file inside the cluster's directory, mode 600: it appears together with the cluster. */
export const SETTINGS_FILE = "quotekeeper.json";

/** Counts up with every change of what stands here or in roles.ts: a cluster of another form gets this one at its next start. */
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

/** The lines with which the release before let in its owner, who was a superuser. */
const HBA_BEFORE = /^host +(quotekeeper +quotekeeper_reader|all +quotekeeper) +127\.0\.0\.1\/32 .*\n/gm;

const SETTINGS = `
# Written by quotekeeper when it made this cluster; the port is given at each start, and the directory of the socket.
listen_addresses = '127.0.0.1'
max_connections = 60
shared_buffers = 128MB
log_min_messages = warning
log_checkpoints = off
`;

/** Against readers: the table of locks has room for all of them at all partitions, the queue of NOTIFY fills no disk. */
const SETTINGS_OF_FORM_2 = `
# Written by quotekeeper.
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
    await fillDraft({ ...cluster, dir: draft }, dir, machine);
    await settleCluster(
      { ...cluster, dir: draft },
      { ...passwords, port: await freePort(PREFERRED_PORT) },
      machine,
    );
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

async function fillDraft(draft: Cluster, dir: string, { freeBytes: free }: Machine): Promise<void> {
  const { runAs, binaries } = draft;
  await makeDirectories(draft.dir, 0o700);
  if (runAs.owner) await chown(draft.dir, runAs.owner.uid, runAs.owner.gid);
  const { code, output } = await run(draft, binaries.initdb, {
    args: [
      `--pgdata=${draft.dir}`,
      `--username=${SUPERUSER}`,
      "--auth=reject",
      "--encoding=UTF8",
      "--locale=C",
      "--no-instructions",
    ],
  });
  if (code === LIBRARY_MISSING)
    throw new QuotekeeperError(
      "EMBEDDED_UNAVAILABLE",
      `${binaries.initdb} lacks a library: install the Microsoft Visual C++ Redistributable`,
    );
  if (code !== 0) {
    const what = `initdb in ${dir} ended with ${code}`;
    throw await failure(what, { dir: dirname(dir), output, free });
  }
  await writeFile(join(draft.dir, "postgresql.conf"), SETTINGS, { flag: "a" });
}

/**
 * Gives a cluster whose server does not run its roles, database and settings, whatever of them it has. The file of its
 * settings comes last: what a kill interrupts is done again at the next start.
 *
 * @throws QuotekeeperError EMBEDDED_FAILED, DISK_FULL; as the first, also while a server runs there
 */
export async function settleCluster(
  cluster: Cluster,
  { port, ownerPassword, viewerPassword }: ClusterSettings,
  { freeBytes: free }: Machine,
): Promise<void> {
  const { dir } = cluster;
  // It cannot be made within a transaction, and may be there.
  await runAlone(cluster, "template1", { sql: `create database ${OWNER}`, stopAtErrors: false });
  const sql = rolesSql({ ownerPassword, viewerPassword });
  const { code, output } = await runAlone(cluster, OWNER, { sql, stopAtErrors: true });
  if (code !== 0) throw await failure(`settling the roles of ${dir}`, { dir, output, free });
  await replaceFile(cluster, "pg_hba.conf", (before) => {
    const added = before.includes("# Written by quotekeeper") ? before.replace(PG_HBA, "") : "";
    return PG_HBA + added.replaceAll(HBA_BEFORE, "").replace(/^# Written by quotekeeper.*\n/gm, "");
  });
  await replaceFile(cluster, "postgresql.conf", (before) =>
    before.includes(SETTINGS_OF_FORM_2) ? before : before + SETTINGS_OF_FORM_2,
  );
  const settings: ClusterSettings = { port, ownerPassword, viewerPassword, form: FORM };
  await replaceFile(cluster, SETTINGS_FILE, () => JSON.stringify(settings));
}

/** Replaces a file as a whole; the server's own files stay the server's. */
async function replaceFile(
  { dir, runAs }: Cluster,
  name: string,
  change: (before: string) => string,
): Promise<void> {
  const [file, draft] = [join(dir, name), join(dir, `${name}.new`)];
  const before = await readFile(file, "utf8").catch(() => "");
  await rm(draft, { force: true });
  await writeFile(draft, change(before), { mode: 0o600, flag: "wx", flush: true });
  // The program's passwords are for the owner of the data directory, who need not be the server's user.
  const owner = name === SETTINGS_FILE ? await stat(dirname(dir)) : runAs.owner;
  if (runAs.owner && owner) await chown(draft, owner.uid, owner.gid);
  await rename(draft, file);
}
