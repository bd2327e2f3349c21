/** The files and the server process of the embedded PostgreSQL: initdb, start, stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { chown, open, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { QuotekeeperError } from "../../errors.ts";
import { unwritable } from "../../journal/data-dir.ts";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { type Processes, PROCESSES } from "../../processes.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { draftOf, sweepDeadDrafts } from "./drafts.ts";
import { failure, freeBytes, type FreeBytes, requireRoom } from "./space.ts";
import type { RunAs } from "./unprivileged.ts";

/** Where a cluster lives and how its programs are run. */
export type Cluster = { dir: string; binaries: PostgresBinaries; runAs: RunAs };

/** What is asked of the machine besides its files. */
export type Machine = { processes: Processes; freeBytes: FreeBytes };

/** The machine itself. */
export const MACHINE: Machine = { processes: PROCESSES, freeBytes };

/** What is needed to start the server and reach it again. */
export type ClusterSettings = { port: number; ownerPassword: string };

/** The settings' file inside the cluster's directory, mode 600: it appears together with the cluster. */
export const SETTINGS_FILE = "quotekeeper.json";

/** The role that owns the archive, and the database of that name. */
export const OWNER = "quotekeeper";

/** The role that may only read; it needs no password from this machine's loopback. */
export const READER = "quotekeeper_reader";

/**
 * Who may connect: the owner with its password, the reader without one, both from loopback only. So the address
 * that `start` prints for psql and Grafana holds no secret.
 */
const PG_HBA = `# Written by quotekeeper when it made this cluster.
host  ${OWNER}  ${READER}  127.0.0.1/32  trust
host  all       ${OWNER}   127.0.0.1/32  scram-sha-256
`;

const SETTINGS = `
# Written by quotekeeper when it made this cluster; the port is given at each start.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 60
shared_buffers = 128MB
log_min_messages = warning
log_checkpoints = off
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
export async function initCluster(cluster: Cluster, password: string, machine: Machine): Promise<void> {
  const { dir } = cluster;
  const draft = draftOf(dir, machine.processes);
  const passwordFile = `${draft}.pw`;
  await sweepDeadDrafts(dir, machine.processes);
  await requireRoom(dirname(dir), machine.freeBytes);
  try {
    await fillDraft(cluster, { draft, passwordFile, password }, machine);
    // Windows renames over no directory, not even over an empty one.
    await rmdir(dir).catch(() => undefined);
    await rename(draft, dir);
  } catch (cause) {
    // Another program made it in the meantime, and has swept this draft away perhaps: its cluster is as good.
    if (await isMade(dir)) return;
    throw cause instanceof QuotekeeperError ? cause : unwritable(dir, cause);
  } finally {
    for (const path of [draft, passwordFile])
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function fillDraft(
  cluster: Cluster,
  { draft, passwordFile, password }: { draft: string; passwordFile: string; password: string },
  { freeBytes: free }: Machine,
): Promise<void> {
  const { dir, runAs, binaries } = cluster;
  await makeDirectories(draft, 0o700);
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (runAs.owner)
    for (const path of [draft, passwordFile]) await chown(path, runAs.owner.uid, runAs.owner.gid);
  const { code, output } = await run(cluster, binaries.initdb, [
    `--pgdata=${draft}`,
    `--username=${OWNER}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--no-instructions",
  ]);
  if (code === LIBRARY_MISSING)
    throw new QuotekeeperError(
      "EMBEDDED_UNAVAILABLE",
      `${binaries.initdb} lacks a library: install the Microsoft Visual C++ Redistributable`,
    );
  if (code !== 0) {
    const what = `initdb in ${dir} ended with ${code}`;
    throw await failure(what, { dir: dirname(dir), output, free });
  }
  await writeFile(join(draft, "pg_hba.conf"), PG_HBA);
  await writeFile(join(draft, "postgresql.conf"), SETTINGS, { flag: "a" });
  const settings: ClusterSettings = { port: await freePort(PREFERRED_PORT), ownerPassword: password };
  await writeFile(join(draft, SETTINGS_FILE), JSON.stringify(settings), { mode: 0o600 });
}

/** How long a server may take until it answers: after a power cut it first reads its log again, as long as that takes. */
const START_WITHIN_S = 3_600;
const LOOK_EVERY_MS = 100;

/** The line of postmaster.pid that says how far the start has come, counted from 0; its words are padded to eight letters. */
const STATUS_LINE = 7;

/** Starts the server. @returns whether it runs, and if not, the last lines of its log */
export async function startServer(
  cluster: Cluster,
  port: number,
): Promise<{ ok: true } | { ok: false; output: string }> {
  const log = join(cluster.dir, "server.log");
  const ok =
    process.platform === "win32"
      ? await startByPgCtl(cluster, port, log)
      : await startAlone(cluster, port, log);
  return ok ? { ok } : { ok, output: lastLines(await readFile(log, "utf8").catch(() => "")) };
}

/** On Windows pg_ctl takes an administrator's rights away first, with which the server would not run. */
async function startByPgCtl(cluster: Cluster, port: number, log: string): Promise<boolean> {
  const wait = ["-w", "-t", String(START_WITHIN_S)];
  const args = ["start", "-D", cluster.dir, "-l", log, ...wait, "-o", `-p ${port}`];
  return (await run(cluster, cluster.binaries.pg_ctl, args, "ignore")).code === 0;
}

/** Without pg_ctl, which starts it through a shell, where `"` or `$` in the directory's name mean something else. */
async function startAlone(cluster: Cluster, port: number, log: string): Promise<boolean> {
  const { owner } = cluster.runAs;
  const output = await open(log, "a", 0o600).catch(({ code }: NodeJS.ErrnoException) => {
    throw new QuotekeeperError("EMBEDDED_FAILED", `${log} cannot be written (${code})`);
  });
  try {
    if (owner) await output.chown(owner.uid, owner.gid);
    const args = ["-D", cluster.dir, "-p", String(port)];
    const child = launch(cluster, cluster.binaries.postgres, { args, output: output.fd });
    let gone = false;
    child.once("exit", () => (gone = true)).once("error", () => (gone = true));
    child.unref();
    for (let waitedMs = 0; !gone && waitedMs < START_WITHIN_S * 1_000; waitedMs += LOOK_EVERY_MS) {
      const lines = (await readFile(join(cluster.dir, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
      if (lines[0] === String(child.pid) && lines[STATUS_LINE]?.trim() === "ready") return true;
      await delay(LOOK_EVERY_MS);
    }
    return false;
  } finally {
    await output.close();
  }
}

/** Stops the server: open transactions are rolled back, everything committed is on disk. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await run(
    cluster,
    cluster.binaries.pg_ctl,
    ["stop", "-D", cluster.dir, "-m", "fast", "-w", "-t", "30"],
    "ignore",
  );
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
  args: string[],
  output: "pipe" | "ignore" = "pipe",
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = launch(cluster, program, { args, output });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
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
  { args, output }: { args: string[]; output: "pipe" | "ignore" | number },
): ChildProcess {
  const [command = program, ...rest] = [...runAs.prefix, program, ...args];
  const identity = runAs.owner && runAs.prefix.length === 0 ? runAs.owner : {};
  return spawn(command, rest, {
    ...identity,
    cwd: dirname(dir),
    ...apartFromTerminal(process.platform),
    stdio: ["ignore", output, output],
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
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
