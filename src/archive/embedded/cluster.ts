/** The files and the server process of the embedded PostgreSQL: initdb, start, stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { chown, open, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { QuotekeeperError } from "../../errors.ts";
import { unwritable } from "../../journal/dataDir.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { environmentOf, type Processes, PROCESSES } from "../../processes.ts";
import { READER } from "../connect/fixedNames.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { draftOf, sweepDeadDrafts } from "./drafts.ts";
import { readPidFile } from "./pidFile.ts";
import { OWNER, rolesSql, SUPERUSER, VIEWER } from "./roles.ts";
import { failure, freeBytes, type FreeBytes, requireRoom } from "./space.ts";
import type { RunAs } from "./unprivileged.ts";

/** Where a cluster lives and how its programs are run. */
export type Cluster = { dir: string; binaries: PostgresBinaries; runAs: RunAs };

/** What is asked of the machine besides its files. */
export type Machine = { processes: Processes; freeBytes: FreeBytes };

/** The machine itself. */
export const MACHINE: Machine = { processes: PROCESSES, freeBytes };

/** The program's own roles log in with these; made of chance, and known from the settings' file alone. */
export type Passwords = Pick<ClusterSettings, "ownerPassword" | "viewerPassword">;

/** What is needed to start the server and reach it again. */
export type ClusterSettings = {
  port: number;
  ownerPassword: string;
  viewerPassword: string;
  /** Which roles and settings the cluster has, see FORM; absent in one of a release before. */
  form?: number;
};

/** The settings' file inside the cluster's directory, mode 600: it appears together with the cluster. */
export const SETTINGS_FILE = "quotekeeper.json";

/** Counts up with every change of what stands here or in roles.ts: a cluster of another form gets this one at its next start. */
export const FORM = 2;

const WINDOWS = process.platform === "win32";

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

/** How the release before let its owner in, who was a superuser. */
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

/** Whether a cluster is there. It comes whole, by one renaming. */
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
      ...[`--pgdata=${draft.dir}`, `--username=${SUPERUSER}`, "--auth=reject", "--encoding=UTF8"],
      ...["--locale=C", "--no-instructions"],
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

/** Whole or not at all; the server's own files stay the server's. */
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

/** PostgreSQL without a server, for one session of its superuser, which is whoever owns the files. */
async function runAlone(
  cluster: Cluster,
  database: string,
  { sql, stopAtErrors }: { sql: string; stopAtErrors: boolean },
): Promise<{ code: number; output: string }> {
  const settings = [
    `exit_on_error=${stopAtErrors ? "on" : "off"}`,
    "search_path=pg_catalog",
    // The statement has passwords in it.
    "log_min_error_statement=panic",
    "log_checkpoints=off",
  ].flatMap((setting) => ["-c", setting]);
  // With -j a blank line ends what is one transaction.
  const input = `${sql.replaceAll(/\n\s*\n/g, "\n").replace(/;?\s*$/, "")};\n\n`;
  const args = ["--single", "-j", "-D", cluster.dir, ...settings, database];
  return run(cluster, cluster.binaries.postgres, { args, input });
}

/** How long a server may take until it answers: after a power cut it first reads its log again, as long as that takes. */
const START_WITHIN_S = 3_600;
const LOOK_EVERY_MS = 20;

/** Starts the server. @returns whether it runs, and if not, the last lines of its log */
export async function startServer(
  cluster: Cluster,
  port: number,
): Promise<{ ok: true } | { ok: false; output: string }> {
  const log = join(cluster.dir, "server.log");
  const ok = WINDOWS ? await startByPgCtl(cluster, port, log) : await startAlone(cluster, port, log);
  return ok ? { ok } : { ok, output: lastLines(await readFile(log, "utf8").catch(() => "")) };
}

/** On Windows pg_ctl takes an administrator's rights away first, with which the server would not run. */
async function startByPgCtl(cluster: Cluster, port: number, log: string): Promise<boolean> {
  const wait = ["-w", "-t", String(START_WITHIN_S)];
  const args = ["start", "-D", cluster.dir, "-l", log, ...wait, "-o", `-p ${port}`];
  return (await run(cluster, cluster.binaries.pg_ctl, { args, output: "ignore" })).code === 0;
}

/** Without pg_ctl, which starts it through a shell, where `"` or `$` in the directory's name mean something else. */
async function startAlone(cluster: Cluster, port: number, log: string): Promise<boolean> {
  const { owner } = cluster.runAs;
  const output = await open(log, "a", 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw new QuotekeeperError("EMBEDDED_FAILED", `${log} cannot be written (${code})`);
  });
  try {
    if (owner) await output.chown(owner.uid, owner.gid);
    // The socket in its own directory, which only its owner may enter: whoever answers there is the server. PostgreSQL
    // works in that directory, so its path is never too long for it.
    const args = ["-D", cluster.dir, "-p", String(port), "-k", "."];
    const child = launch(cluster, cluster.binaries.postgres, { args, output: output.fd });
    let gone = false;
    child.once("exit", () => (gone = true)).once("error", () => (gone = true));
    child.unref();
    for (let waitedMs = 0; !gone && waitedMs < START_WITHIN_S * 1_000; waitedMs += LOOK_EVERY_MS) {
      const { pid, status } = await readPidFile(cluster.dir);
      if (pid === String(child.pid) && status === "ready") return true;
      await delay(LOOK_EVERY_MS);
    }
    return false;
  } finally {
    await output.close();
  }
}

/** Stops the server: open transactions are rolled back, everything committed is on disk. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const args = ["stop", "-D", cluster.dir, "-m", "fast", "-w", "-t", "30"];
  await run(cluster, cluster.binaries.pg_ctl, { args, output: "ignore" });
}

/** `preferred` when nobody listens there, else a free port of the system's choice. */
export async function freePort(preferred: number): Promise<number> {
  return (await tryPort(preferred)) ?? (await tryPort(0)) ?? preferred;
}

async function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : null));
    });
  });
}

/** Runs one of PostgreSQL's programs. With `ignore`, a server it leaves behind holds no pipe of ours open. */
async function run(
  cluster: Cluster,
  program: string,
  { args, output = "pipe", input }: { args: string[]; output?: "pipe" | "ignore"; input?: string },
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = launch(cluster, program, { args, output, input: input !== undefined });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    // One that has ended already says why itself.
    child.stdin?.on("error", () => undefined).end(input);
    child.once("error", (cause) =>
      reject(new QuotekeeperError("EMBEDDED_FAILED", `${program}: ${cause.message}`, { cause })),
    );
    child.once(output === "pipe" ? "close" : "exit", (code: number | null) =>
      resolve({ code: code ?? 1, output: lastLines(text) }),
    );
  });
}

/** @param options.output where it writes: a pipe of ours, nowhere, or an open file */
function launch(
  { runAs, dir }: Cluster,
  program: string,
  { args, output, input = false }: { args: string[]; output: "pipe" | "ignore" | number; input?: boolean },
): ChildProcess {
  const [command = program, ...rest] = [...runAs.prefix, program, ...args];
  const identity = runAs.owner && runAs.prefix.length === 0 ? runAs.owner : {};
  return spawn(command, rest, {
    ...identity,
    cwd: dirname(dir),
    ...apartFromTerminal(process.platform),
    stdio: [input ? "pipe" : "ignore", output, output],
    env: { ...environmentOf(process.env, "other"), LC_ALL: "C", TZ: "UTC" },
  });
}

/**
 * How a program is spawned so that the terminal's Ctrl-C, which is ours to handle, does not reach it or the server it
 * leaves behind: in a session of its own. Windows would open a window for that, and has consoles without one instead.
 */
export function apartFromTerminal(platform: string): { detached: boolean; windowsHide: boolean } {
  return { detached: platform !== "win32", windowsHide: true };
}

function lastLines(text: string): string {
  return text.trim().split(/\r?\n/).slice(-4).join(" | ") || "no output";
}
