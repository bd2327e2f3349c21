/** The files and the server process of the embedded PostgreSQL: initdb, start, stop. */
import { spawn } from "node:child_process";
import { chown, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { makeDirectories } from "../../journal/makeDirectories.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { PostgresBinaries } from "./binaries.ts";
import type { RunAs } from "./unprivileged.ts";

/** Where a cluster lives and how its programs are run. */
export type Cluster = { dir: string; binaries: PostgresBinaries; runAs: RunAs };

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

/**
 * Makes the cluster under another name and renames it when it is complete, so that a kill in the middle never
 * leaves half a cluster behind.
 */
export async function initCluster(cluster: Cluster, password: string): Promise<void> {
  const { dir, runAs } = cluster;
  const draft = `${dir}.new-${process.pid}`;
  const passwordFile = `${draft}.pw`;
  try {
    await makeDirectories(draft, 0o700);
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (runAs.owner) {
      await chown(draft, runAs.owner.uid, runAs.owner.gid);
      await chown(passwordFile, runAs.owner.uid, runAs.owner.gid);
    }
    const { code, output } = await run(cluster, cluster.binaries.initdb, [
      `--pgdata=${draft}`,
      `--username=${OWNER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-instructions",
    ]);
    if (code !== 0)
      throw new QuotekeeperError(
        "EMBEDDED_FAILED",
        `initdb in ${dir} ended with ${code}: ${lastLines(output)}`,
      );
    await writeFile(join(draft, "pg_hba.conf"), PG_HBA);
    await writeFile(join(draft, "postgresql.conf"), SETTINGS, { flag: "a" });
    const settings: ClusterSettings = { port: await freePort(PREFERRED_PORT), ownerPassword: password };
    await writeFile(join(draft, SETTINGS_FILE), JSON.stringify(settings), { mode: 0o600 });
    // ENOTEMPTY: another program of ours made it in the meantime, and its cluster is as good.
    await rename(draft, dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
}

/** Starts the server in a session of its own, so that the terminal's Ctrl-C is ours to handle. */
export async function startServer(
  cluster: Cluster,
  port: number,
): Promise<{ ok: true } | { ok: false; detail: string }> {
  const log = join(cluster.dir, "server.log");
  const { code } = await run(
    cluster,
    cluster.binaries.pg_ctl,
    ["start", "-D", cluster.dir, "-l", log, "-w", "-t", "3600", "-o", `-p ${port}`],
    "ignore",
  );
  if (code === 0) return { ok: true };
  return { ok: false, detail: lastLines(await readFile(log, "utf8").catch(() => "")) };
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
  { runAs, dir }: Cluster,
  program: string,
  args: string[],
  output: "pipe" | "ignore" = "pipe",
): Promise<{ code: number; output: string }> {
  const [command = program, ...rest] = [...runAs.prefix, program, ...args];
  const identity = runAs.owner && runAs.prefix.length === 0 ? runAs.owner : {};
  return new Promise((resolve, reject) => {
    const child = spawn(command, rest, {
      ...identity,
      cwd: dirname(dir),
      detached: true,
      stdio: ["ignore", output, output],
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.once("error", (cause) =>
      reject(new QuotekeeperError("EMBEDDED_FAILED", `${program}: ${cause.message}`, { cause })),
    );
    child.once(output === "pipe" ? "close" : "exit", (code: number | null) =>
      resolve({ code: code ?? 1, output: text }),
    );
  });
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-4).join(" | ") || "no output";
}
