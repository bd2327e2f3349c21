/** The program behind Debian's pgbouncer, in the modes that people run it in. */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../src/archive/embedded/programs.ts";
import { openOwnServer } from "../support/postgres/server.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { launch, ROOT, runs } from "./programs.ts";
import { LeftOut, type Trial } from "./trial.ts";

const PGBOUNCER = "/usr/sbin/pgbouncer";

/** Modes that `start` must refuse, each with a pool in which its test is easy, and one in which it is not. */
const REFUSED: Record<string, string>[] = [
  { pool_mode: "transaction" },
  { pool_mode: "transaction", default_pool_size: "1" },
  { pool_mode: "transaction", server_round_robin: "1", min_pool_size: "3" },
  { pool_mode: "statement" },
];

export const trial: Trial = {
  name: "pooler",
  title: "pgbouncer with its defaults (session mode), in transaction mode and in statement mode",
  run: async ({ dir, say }) => {
    if (!existsSync(PGBOUNCER)) throw new LeftOut("pgbouncer is not installed (apt-get install pgbouncer)");
    const bin = compileProgram(join(dir, "program"));
    mkdirSync(join(dir, "data"));
    chmodSync(join(dir, "data"), 0o755);
    const server = await openOwnServer(join(dir, "data"));
    try {
      const owner = new URL(server.url);
      const withDefaults = await startBouncer(dir, owner, {});
      const quotes = await collectSome(bin, dir, withDefaults.url, server.url).finally(withDefaults.stop);
      say(`session mode: ${quotes} quotes stored`);
      for (const settings of REFUSED) {
        const bouncer = await startBouncer(dir, owner, settings);
        const start = launch(process.execPath, [bin, "start"], {
          cwd: dir,
          env: { ...ENV, DATABASE_URL: bouncer.url },
        });
        const code = await start.closed.finally(bouncer.stop);
        say(`${JSON.stringify(settings)}: exit code ${code}`);
        if (code !== 1 || !start.text().includes("DATABASE_POOLED"))
          throw new Error(`${JSON.stringify(settings)} was not refused: ${start.text()}`);
      }
      return `session mode collects and loads; ${REFUSED.length} pools in transaction or statement mode are refused (DATABASE_POOLED, exit code 1)`;
    } finally {
      await server.close();
    }
  },
};

const ENV = {
  QUOTEKEEPER_HTTP_PORT: "0",
  QUOTEKEEPER_JOBS_DIR: join(ROOT, "jobs"),
};

/** Runs `start` until the archive has quotes, ends it, and counts them. */
async function collectSome(bin: string, cwd: string, url: string, directUrl: string): Promise<number> {
  const start = launch(process.execPath, [bin, "start"], { cwd, env: { ...ENV, DATABASE_URL: url } });
  const client = new pg.Client({ connectionString: directUrl });
  await client.connect();
  try {
    for (;;) {
      if (!runs(start)) throw new Error(`start ended: ${start.text()}`);
      const { rows } = await client
        .query<{ n: number }>("select count(*)::int as n from quotes")
        .catch(() => ({ rows: [{ n: 0 }] }));
      if ((rows[0]?.n ?? 0) > 0) break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    start.child.kill("SIGTERM");
    const code = await start.closed;
    if (code !== 0) throw new Error(`start ended with ${code}: ${start.text()}`);
    const { rows } = await client.query<{ n: number }>("select count(*)::int as n from quotes");
    return rows[0]?.n ?? 0;
  } finally {
    start.child.kill("SIGKILL");
    await client.end();
  }
}

/** A pgbouncer of our own before a server, with its defaults but for the settings given. */
async function startBouncer(
  dir: string,
  server: URL,
  settings: Record<string, string>,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = await freePort(0);
  const [user, password] = [server.username, decodeURIComponent(server.password)];
  writeFileSync(join(dir, "users.txt"), `"${user}" "${password}"\n`, { mode: 0o644 });
  const lines = {
    listen_addr: "127.0.0.1",
    listen_port: String(port),
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: join(dir, "users.txt"),
    ...settings,
  };
  const file = join(dir, `pgbouncer-${port}.ini`);
  const database = `[databases]\n* = host=127.0.0.1 port=${server.port}\n`;
  const own = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, `${database}[pgbouncer]\n${own.join("\n")}\n`, { mode: 0o644 });
  // It does not run as root.
  const args = process.geteuid?.() === 0 ? ["-u", "nobody", file] : [file];
  const child = spawn(PGBOUNCER, args, { stdio: ["ignore", "ignore", "pipe"] });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (/process up/.test(text)) resolve();
    });
    child.once("exit", () => reject(new Error(`pgbouncer: ${text}`)));
  });
  const url = new URL(server.href);
  url.port = String(port);
  return {
    url: url.href,
    stop: async () => {
      child.kill("SIGINT");
      child.kill("SIGTERM");
      await gone;
    },
  };
}
