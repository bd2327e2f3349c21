/** A primary and a hot standby that follows it, as Debian's PostgreSQL makes them with `pg_basebackup -R`. */
import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "../../src/archive/embedded/programs.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { launch, ROOT, type Running, runs } from "./programs.ts";
import { LeftOut, type Trial } from "./trial.ts";

const VERSIONS = "/usr/lib/postgresql";

export const trial: Trial = {
  name: "standby",
  title: "DATABASE_URL names a hot standby, which is promoted while the collector runs",
  run: async ({ dir, say }) => {
    const programs = findPrograms();
    const bin = compileProgram(join(dir, "program"));
    const as = await serverUser(dir);
    const [primaryPort, standbyPort] = [await freePort(0), await freePort(0)];
    const run = runner(programs, as);
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const primary = join(dir, "servers", "primary");
      await run("initdb", ["-D", primary, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]);
      stops.push(await startServer(run, primary, primaryPort));
      const env = settings(dir, primaryPort);
      await expectExit(bin, ["migrate"], { env, code: 0, says: /applied 0029_baseline/ });

      const standby = join(dir, "servers", "standby");
      await run("pg_basebackup", [
        "-R",
        "--checkpoint=fast",
        "-D",
        standby,
        "-h",
        "127.0.0.1",
        "-p",
        `${primaryPort}`,
        "-U",
        "postgres",
      ]);
      stops.push(await startServer(run, standby, standbyPort));
      say("a standby follows the primary");
      return await tryStandby(bin, settings(dir, standbyPort), say);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

type Env = Record<string, string>;

async function tryStandby(bin: string, env: Env, say: (line: string) => void): Promise<string> {
  const named = /DATABASE_READ_ONLY: 127\.0\.0\.1:\d+\/postgres: the server is a standby and takes no writes/;
  await expectExit(bin, ["migrate"], { env, code: 1, says: named });
  await expectExit(bin, ["status"], { env, code: 1, says: named });
  await expectExit(bin, ["poll", "--symbols", "AAPL"], { env, code: 1, says: named });
  await expectExit(bin, ["coverage"], { env, code: 0, says: /no slot|stored/ });
  const out = join(env["QUOTEKEEPER_DATA_DIR"] ?? "", "exported");
  await expectExit(bin, ["export", "--format", "csv", "--out", out], { env, code: 0, says: /rows in/ });
  say("migrate, status and poll name it; coverage and export read it");

  const state = join(env["QUOTEKEEPER_DATA_DIR"] ?? "", "loader.json");
  const start = begin(bin, ["start"], env);
  try {
    await until(start, () => existsSync(state));
    await expectExit(bin, ["status"], { env, code: 1, says: named });
    const client = new pg.Client({ connectionString: env["DATABASE_URL"] });
    await client.connect();
    await client.query("select pg_promote()");
    say("promoted; the loader tries again within half a minute");
    await until(start, () => !existsSync(state));
    const { rows } = await client.query<{ n: number }>("select count(*)::int as n from responses");
    await client.end();
    start.child.kill("SIGTERM");
    const code = await start.closed;
    if (code !== 0) throw new Error(`start ended with ${code}: ${start.text()}`);
    if (!named.test(start.text())) throw new Error(`start did not name the standby: ${start.text()}`);
    const answers = rows[0]?.n ?? 0;
    // The poll's answer waited as well.
    if (answers < 2) throw new Error(`${answers} answers were loaded`);
    return `DATABASE_READ_ONLY by migrate, status, poll and start; start collected on, and loaded ${answers} answers after the promotion, exit code 0`;
  } finally {
    start.child.kill("SIGKILL");
  }
}

function settings(dir: string, port: number): Env {
  return {
    DATABASE_URL: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(ROOT, "jobs"),
    QUOTEKEEPER_HTTP_PORT: "0",
  };
}

function begin(bin: string, args: string[], env: Env): Running {
  return launch(process.execPath, [bin, ...args], { cwd: join(bin, ".."), env });
}

async function expectExit(
  bin: string,
  args: string[],
  { env, code, says }: { env: Env; code: number; says: RegExp },
): Promise<void> {
  const program = begin(bin, args, env);
  const ended = await program.closed;
  if (ended !== code || !says.test(program.text()))
    throw new Error(`${args.join(" ")} ended with ${ended} and said: ${program.text()}`);
}

async function until(program: Running, look: () => boolean): Promise<void> {
  while (!look()) {
    if (!runs(program)) throw new Error(`it ended: ${program.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The directory of the newest PostgreSQL's programs. */
function findPrograms(): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(a) - Number(b)) : [];
  const found = versions
    .map((version) => join(VERSIONS, version, "bin"))
    .filter((bin) => existsSync(join(bin, "initdb")));
  const newest = found.at(-1);
  if (newest === undefined)
    throw new LeftOut("PostgreSQL's programs are not installed (apt-get install postgresql)");
  return newest;
}

type User = { uid: number; gid: number } | null;

/** Who runs the servers: PostgreSQL does not run as root. Their directory is that user's. */
async function serverUser(dir: string): Promise<User> {
  const servers = join(dir, "servers");
  mkdirSync(servers, { mode: 0o700 });
  if (process.geteuid?.() !== 0) return null;
  const ids = await Promise.all(["-u", "-g"].map((flag) => promisify(execFile)("id", [flag, "postgres"])));
  const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout));
  chownSync(servers, uid, gid);
  return { uid, gid };
}

type Run = (program: string, args: string[]) => Promise<unknown>;

function runner(programs: string, as: User): Run {
  return (program, args) =>
    promisify(execFile)(join(programs, program), args, {
      cwd: "/",
      ...as,
      env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
    });
}

/** @returns how to stop it */
async function startServer(run: Run, data: string, port: number): Promise<() => Promise<unknown>> {
  const owner = statSync(data);
  writeFileSync(join(data, "postgresql.auto.conf"), autoSettings(port), { flag: "a", mode: 0o600 });
  chownSync(join(data, "postgresql.auto.conf"), owner.uid, owner.gid);
  await run("pg_ctl", ["start", "-D", data, "-w", "-l", join(data, "server.log")]);
  return () => run("pg_ctl", ["stop", "-D", data, "-m", "fast", "-w"]);
}

function autoSettings(port: number): string {
  return `listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nport = ${port}\nfsync = off\n`;
}
