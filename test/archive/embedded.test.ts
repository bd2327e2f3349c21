/** The embedded server and its directory, tried with the real server. What the outside does stands in `Machine`. */
import {
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { FORM, type Machine, MACHINE } from "../../src/archive/embedded/cluster.ts";
import { type EmbeddedServer, openEmbedded } from "../../src/archive/embedded/embeddedServer.ts";
import { failure } from "../../src/archive/embedded/space.ts";
import { type Clock, systemClock } from "../../src/ground/clock.ts";
import { openDir } from "../support/tempDir.ts";

// Each makes clusters, which takes as long as the machine is slow.
jest.setTimeout(300_000);

/** Waits between attempts cost nothing here. */
const clock: Clock = { ...systemClock, sleep: () => Promise.resolve() };

const opened: EmbeddedServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0).reverse()) await server.close();
});

async function open(dir: string, machine: Partial<Machine> = {}): Promise<EmbeddedServer> {
  const server = await openEmbedded(dir, clock, { machine: { ...MACHINE, ...machine } });
  opened.push(server);
  return server;
}

/** A process of that id, among those that run. */
const processes = (pid: number, ...running: number[]): Partial<Machine> => ({
  processes: { pid, isRunning: (other) => running.includes(other) },
});

test("a server that runs and has no connection left is said to run, and not that it does not start", async () => {
  const dir = openDir();
  const { ownerUrl } = await open(dir);
  const clients: pg.Client[] = [];
  const connect = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: ownerUrl });
    clients.push(client);
    return client.connect().then(
      () => true,
      () => false,
    );
  };
  while (await connect());

  const second = open(dir);

  await expect(second).rejects.toMatchObject({
    detail: expect.stringMatching(/postgres, which runs: 53300 /),
  });
  for (const client of clients) await client.end().catch(() => undefined);
});

test("the server of a data directory is found under every name of it, and never by a copy", async () => {
  const [dir, link, copy] = [join(openDir(), "data"), join(openDir(), "link"), join(openDir(), "copy")];
  symlinkSync(dir, link, "junction");

  const first = await open(dir);
  const second = await open(link);
  // Of a socket there is no copy.
  const filter = (path: string): boolean => !lstatSync(path).isSocket();
  cpSync(dir, copy, { recursive: true, preserveTimestamps: true, filter });

  expect(second.readerUrl).toBe(first.readerUrl);
  // The copy says that the first server is its own, and has its password.
  await expect(open(copy)).rejects.toMatchObject({
    code: "EMBEDDED_COPIED",
    detail: `${join(copy, "postgres")} was copied while the server of ${join(dir, "postgres")} ran`,
  });

  // Nor one that reaches the first server by a second name of its socket.
  for (const name of readdirSync(join(dir, "postgres")).filter((one) => one.startsWith(".s.PGSQL")))
    if (!name.endsWith(".lock")) linkSync(join(dir, "postgres", name), join(copy, "postgres", name));
  await expect(open(copy)).rejects.toMatchObject({ code: "EMBEDDED_COPIED" });

  // What a kill leaves is no copy, whatever the directory is called afterwards.
  const note = readFileSync(join(dir, "postgres", "postmaster.pid"));
  for (const server of opened.splice(0).reverse()) await server.close();
  writeFileSync(join(dir, "postgres", "postmaster.pid"), note);
  const moved = join(openDir(), "moved");
  renameSync(dir, moved);
  await open(moved);
});

describe("what a kill in the first initdb left", () => {
  function killed(dir: string, pid: number): void {
    mkdirSync(join(dir, `postgres.new-${pid}`, "base"), { recursive: true });
  }

  test("a start removes the draft of a killed first initdb, and no other file", async () => {
    const dir = openDir();
    killed(dir, 101);
    writeFileSync(join(dir, "postgres.new-ideas"), "");

    await open(dir, processes(102, 102));

    expect(readdirSync(dir).sort()).toEqual(["postgres", "postgres.new-ideas"]);
  });

  test("a start removes the draft of a killed initdb, though another process has its number and though a cluster is there", async () => {
    const dir = openDir();
    killed(dir, 101);
    const first = await open(dir, processes(102, 101, 102));
    const afterFirst = readdirSync(dir);
    killed(dir, 103);
    const second = await open(dir, processes(104, 103, 104));

    expect([afterFirst, readdirSync(dir)]).toEqual([["postgres"], ["postgres"]]);
    expect(second.ownerUrl).toBe(first.ownerUrl);
  });

  test("a start removes a dead draft before it looks for room on the disk", async () => {
    const dir = openDir();
    killed(dir, 101);
    // A disk on which there is room as soon as the draft is gone.
    const freeBytes = async () => (existsSync(join(dir, "postgres.new-101")) ? 0 : Infinity);

    await expect(open(dir, { ...processes(102, 102), freeBytes })).resolves.toBeDefined();
  });

  test("two first starts at the same time have one server, and leave no draft", async () => {
    const dir = openDir();

    const [first, second] = await Promise.all([
      open(dir, processes(101, 101, 102)),
      open(dir, processes(102, 101, 102)),
    ]);

    expect(second.ownerUrl).toBe(first.ownerUrl);
    expect(readdirSync(dir)).toEqual(["postgres"]);
  });
});

describe("a disk without room", () => {
  test("a disk without room for a new database is named before anything is made", async () => {
    const dir = openDir();

    await expect(open(dir, { freeBytes: async () => 30.9e6 })).rejects.toMatchObject({
      code: "DISK_FULL",
      detail: `the disk of ${dir} has 30 MB left, and a new database takes 64 MB`,
    });
    expect(readdirSync(dir)).toEqual([]);
  });

  /** A cluster whose server cannot start, whatever the disk has. */
  function broken(form = FORM): string {
    const dir = openDir();
    const cluster = join(dir, "postgres");
    mkdirSync(cluster);
    writeFileSync(join(cluster, "PG_VERSION"), "18\n");
    const settings = { port: 1, ownerPassword: "secret", viewerPassword: "secret", form };
    writeFileSync(join(cluster, "quotekeeper.json"), JSON.stringify(settings));
    return dir;
  }

  test.each([
    [3e6, "DISK_FULL", "the disk is full (3 MB left)"],
    [500e6, "EMBEDDED_FAILED", "does not start: "],
    [Infinity, "EMBEDDED_FAILED", "does not start: "],
  ])("a server that does not start with %d bytes left on its disk is %s", async (bytes, code, detail) => {
    await expect(open(broken(), { freeBytes: async () => bytes })).rejects.toMatchObject({
      code,
      detail: expect.stringContaining(detail),
    });
  });

  test("a cluster of before there were forms is not opened", async () => {
    await expect(open(broken(0), {})).rejects.toMatchObject({ code: "DATABASE_TOO_OLD" });
  });

  test("a server that runs and takes no connection on a full disk is said to run", async () => {
    const dir = broken();
    writeFileSync(join(dir, "postgres", "postmaster.pid"), `4711\n${dir}/postgres\n0\n1\n`);
    const machine = { ...processes(1, 4711), freeBytes: async () => 3e6 };

    await expect(open(dir, machine)).rejects.toMatchObject({
      code: "DISK_FULL",
      detail: expect.stringContaining("runs, and takes no connection: the disk is full"),
    });
  });

  test.each([
    ["FATAL:  could not write to file: No space left on device", Infinity, "DISK_FULL"],
    // A quota is no matter of the disk's free bytes.
    ["FATAL:  could not extend file: Disk quota exceeded", 500e6, "DISK_FULL"],
    ["FATAL:  could not open file: Permission denied", 500e6, "EMBEDDED_FAILED"],
    ["The server must be started under an unprivileged user ID to prevent", 500e6, "EMBEDDED_AS_ROOT"],
  ])("the fault is known by what the program said: %s", async (output, bytes, code) => {
    const error = await failure("initdb", { dir: "data", output, free: async () => bytes });

    expect(error).toMatchObject({ code, detail: expect.stringContaining("initdb") });
  });
});
