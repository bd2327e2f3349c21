/** PostgreSQL's own programs on a cluster: run to their end, or as its server, started and stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { QuotekeeperError } from "../../ground/errors.ts";
import { environmentOf } from "../../ground/processes.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { readPidFile } from "./pidFile.ts";
import type { RunAs } from "./unprivileged.ts";

export type Cluster = { dir: string; binaries: PostgresBinaries; runAs: RunAs };

export const WINDOWS = process.platform === "win32";

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
    // The socket in its own directory, which only its owner may enter: the program that answers there is the server. PostgreSQL
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

/** `preferred` if no program listens on it, else a free port that the system chooses. */
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

/** Runs one of PostgreSQL's programs to its end. With `ignore`, a server it leaves behind holds no pipe of ours open. */
export async function run(
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
    // The terminal's Ctrl-C, which is ours to handle, must not reach the program or the server it leaves behind: it gets a
    // session of its own. Windows would open a window for that, and has consoles without one instead.
    detached: !WINDOWS,
    windowsHide: true,
    stdio: [input ? "pipe" : "ignore", output, output],
    env: { ...environmentOf(process.env, "other"), LC_ALL: "C", TZ: "UTC" },
  });
}

function lastLines(text: string): string {
  return text.trim().split(/\r?\n/).slice(-4).join(" | ") || "no output";
}

/** PostgreSQL without a server, for one session of its superuser, which is whoever owns the files. */
export async function runAlone(
  cluster: Cluster,
  database: string,
  sql: string,
): Promise<{ code: number; output: string }> {
  const settings = [
    "exit_on_error=on",
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
