/** The PostgreSQL server of a test run: the one of `TEST_DATABASE_URL`, or an embedded one that goes away with it. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { OWNER, SUPERUSER } from "../../../src/archive/embedded/roles.ts";
import { openEmbedded } from "../../../src/archive/embedded/embeddedServer.ts";
import { READER } from "../../../src/archive/connect/fixedNames.ts";
import { systemClock } from "../../../src/ground/clock.ts";

/** A server that tests may make databases on. */
export type TestServer = { url: string; close: () => Promise<void> };

/** Many test files at once, each with connections of its own; and nothing here has to survive a power cut. */
const SETTINGS = [
  "alter system set max_connections = 300",
  "alter system set fsync = off",
  "alter system set full_page_writes = off",
  "alter system set synchronous_commit = off",
  // Each end hashes a password 4,096 times for a connection otherwise, and there are thousands of them.
  "alter system set scram_iterations = 1",
];

/** A fresh directory for a server below the system's temporary one. */
export function makeServerDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-postgres-"));
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(dir, 0o755);
  return dir;
}

/** A server that tests use over TCP. */
export type OwnServer = TestServer & { revive: () => Promise<void> };

/**
 * Makes the embedded server of a directory one that is used as a server of somebody's own is: over TCP, by a superuser.
 * `url` is that user's.
 */
export async function openOwnServer(dir: string): Promise<OwnServer> {
  await (await openEmbedded(dir, systemClock)).close();
  const cluster = join(dir, "postgres");
  const hba = readFileSync(join(cluster, "pg_hba.conf"), "utf8");
  const lines = [
    `host all ${SUPERUSER},${READER} 127.0.0.1/32 trust\n`,
    `host all ${OWNER} 127.0.0.1/32 scram-sha-256\n`,
  ].join("");
  writeFileSync(join(cluster, "pg_hba.conf"), hba.startsWith(lines) ? hba : lines + hba);
  const server = await reopenOwnServer(dir);
  const { port } = new URL(server.url);
  await execute(`postgresql://${SUPERUSER}@127.0.0.1:${port}/${OWNER}`, [`alter role ${OWNER} superuser`]);
  return server;
}

/** Opens it again. */
export async function reopenOwnServer(dir: string): Promise<OwnServer> {
  const { readerUrl, ownerUrl, revive, close } = await openEmbedded(dir, systemClock);
  const url = new URL(readerUrl);
  url.username = OWNER;
  url.password = new URL(ownerUrl).password;
  return { url: url.href, revive, close };
}

/** Starts an embedded server in a fresh directory of the system's temporary one. */
export async function startTestServer(): Promise<TestServer> {
  const dir = makeServerDir();
  const onExit = (): void => {
    killServer(dir);
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  // The way out when jest is ended before its teardown.
  process.once("exit", onExit);
  const onSignal = (): never => process.exit(130);
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const first = await openOwnServer(dir);
  await execute(first.url, SETTINGS);
  // The number of connections is read at the start only.
  await first.close();
  const server = await openOwnServer(dir);
  await execute(server.url, [`alter role ${OWNER} password '${new URL(server.url).password}'`]);
  return {
    url: server.url,
    close: async () => {
      await server.close();
      process.off("exit", onExit).off("SIGINT", onSignal).off("SIGTERM", onSignal);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Runs statements one by one over a connection of their own. */
export async function execute(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function killServer(dir: string): void {
  try {
    const pid = Number(readFileSync(join(dir, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
    // SIGQUIT: at once, without a checkpoint.
    if (pid > 1) process.kill(pid, "SIGQUIT");
  } catch {
    // There is none.
  }
}
