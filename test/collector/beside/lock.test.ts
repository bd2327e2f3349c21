import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, expect, test } from "@jest/globals";
import { ASKING, type DataDirLock, findCollector, lockDataDir } from "../../../src/collector/beside/lock.ts";
import { type ThisProcess } from "../../../src/collector/beside/lockDoor.ts";
import { type Clock, systemClock } from "../../../src/ground/clock.ts";
import { createTestClock } from "../../support/clock.ts";
import { compileModules } from "../../support/compileProgram.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";

const HERE: ThisProcess = { pid: 4711, host: "quotes-1", kernel: "0123abcd" };

const children = new Set<ChildProcess>();
const held: DataDirLock[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const lock of held.splice(0)) await lock.release();
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => children.forEach((child) => child.kill("SIGKILL")));

async function lock(
  dataDir: string,
  { self = HERE, clock = systemClock }: { self?: ThisProcess; clock?: Clock } = {},
): Promise<DataDirLock & { warned: string[] }> {
  const warned: string[] = [];
  const taken = await lockDataDir(dataDir, { clock, self, warn: (message) => void warned.push(message) });
  held.push(taken);
  return { ...taken, warned };
}

/** A socket that listens in the lock's directory under any name; `answer` is what it says to whoever comes. */
async function foreignSocket(dataDir: string, name: string, answer: string | null): Promise<void> {
  mkdirSync(join(dataDir, "collector"), { recursive: true, mode: 0o700 });
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    if (answer !== null) socket.end(answer);
  });
  servers.push(server);
  await once(server.listen(join(dataDir, "collector", name)), "listening");
}

/** What a process leaves that was killed: a socket on which nobody listens any more. */
async function deadSocket(dataDir: string, name: string): Promise<void> {
  const script = `require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
  mkdirSync(join(dataDir, "collector"), { recursive: true, mode: 0o700 });
  await once(spawn(process.execPath, ["-e", script, join(dataDir, "collector", name)]), "close");
}

const STALE = "77-00000000000000aa-0123abcd-quotes-1";

test("a contender whose socket was removed before it had its name makes another one", async () => {
  const dataDir = tempDir();
  const dir = join(dataDir, "collector");
  mkdirSync(dir, { mode: 0o700 });
  // As a holder does that tidies up, in the turn of the event loop in which the socket is made.
  const removed: string[] = [];
  const tidyUp = (): void => {
    for (const file of readdirSync(dir).filter((name) => name.startsWith("new-"))) {
      rmSync(join(dir, file));
      removed.push(file);
    }
    if (removed.length === 0) setImmediate(tidyUp);
  };
  setImmediate(tidyUp);

  const { id } = await lock(dataDir);

  expect(removed).toEqual([expect.stringContaining(id)]);
  expect(readdirSync(dir)).toEqual([expect.stringContaining(id)]);
});

test("the second collector on a data directory is refused, by an error that names the first one's process, machine and start; after its end it is not", async () => {
  const dataDir = tempDir();
  const first = await lock(dataDir, {
    clock: { ...systemClock, now: () => new Date("2026-11-22T05:49:30Z") },
  });

  const refused = await lock(dataDir, { self: { ...HERE, pid: 4712 } }).catch((error: unknown) => error);
  await first.release();
  const again = await lock(dataDir);

  expect(refused).toMatchObject({ code: "COLLECTOR_RUNNING", exitCode: 2 });
  expect((refused as Error).message).toBe(
    `COLLECTOR_RUNNING: ${dataDir} is collected by process 4711 on quotes-1 since 2026-11-22 00:49 New York. End that ` +
      "collector first. To run both, give this one its own data directory (QUOTEKEEPER_DATA_DIR): they share the accounts.",
  );
  expect(again.warned).toEqual([]);
});

test("the second collector on a data directory is refused also below a path that is too long for a socket", async () => {
  const dataDir = join(tempDir(), "a-long-name".repeat(9));
  await lock(dataDir);

  await expect(lock(dataDir)).rejects.toMatchObject({ code: "COLLECTOR_RUNNING" });
});

test("a refused collector leaves no file behind, and the directory is its owner's alone", async () => {
  const dataDir = tempDir();
  await lock(dataDir);
  const before = readdirSync(join(dataDir, "collector"));

  await lock(dataDir).catch(() => undefined);

  expect(readdirSync(join(dataDir, "collector"))).toEqual(before);
  expect(before).toHaveLength(1);
});

test("a contender that an earlier one asked while it looked around does not acquire the lock beside it", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "collector"), { mode: 0o700 });
  const latest = JSON.stringify({
    state: "contends",
    since: "2026-11-22T09:00:00.000Z",
    id: "ff",
    pid: 1,
    host: "x",
  });
  // A third one, the latest of all, is slow to answer the first that asks it.
  let answerTheFirst: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    const slow = createServer((socket) => {
      socket.on("error", () => undefined);
      const answer = (): void => void socket.end(`${latest}\n`);
      slow
        .removeAllListeners("connection")
        .on("connection", (next) => next.on("error", () => undefined).end(`${latest}\n`));
      answerTheFirst = answer;
      resolve();
    });
    servers.push(slow);
    slow.listen(join(dataDir, "collector", STALE));
  });
  const at = (time: string): Clock => ({
    ...systemClock,
    now: () => new Date(`2026-11-22T${time}:00Z`),
    // It waits for the slow one as long as that takes.
    sleep: (ms, signal) => systemClock.sleep(ms === 2_000 ? 2_000_000 : ms, signal),
  });

  const later = lock(dataDir, { self: { ...HERE, pid: 2 }, clock: at("08:00") });
  await asked;
  const earlier = await lock(dataDir, { self: { ...HERE, pid: 1 }, clock: at("07:00") });
  answerTheFirst();

  await expect(later).rejects.toMatchObject({
    code: "COLLECTOR_RUNNING",
    detail: expect.stringContaining("process 1 "),
  });
  await earlier.release();
});

test("a dead process's socket means nothing, is removed, and its run is known to be dead", async () => {
  const dataDir = tempDir();
  await deadSocket(dataDir, STALE);
  await deadSocket(dataDir, `new-78-00000000000000bb-0123abcd-quotes-1`);

  const { id, dead, warned, forgetDead } = await lock(dataDir);

  expect(dead.toSorted()).toEqual(["00000000000000aa", "00000000000000bb"]);
  await forgetDead();
  expect(readdirSync(join(dataDir, "collector"))).toEqual([expect.stringContaining(id)]);
  expect(warned).toEqual([]);
});

test("a holder that died before it used the names of dead runs leaves them to the next", async () => {
  const dataDir = tempDir();
  await deadSocket(dataDir, STALE);
  await (await lock(dataDir)).release({ asDead: true });

  const { dead } = await lock(dataDir);

  expect(dead).toHaveLength(2);
  expect(dead).toContain("00000000000000aa");
});

test("a socket from before the machine was started anew means nothing", async () => {
  const dataDir = tempDir();
  await deadSocket(dataDir, "77-00000000000000aa-ffffffff-quotes-1");

  expect((await lock(dataDir)).dead).toEqual(["00000000000000aa"]);
});

test("pid files, plain files, links and sockets of other names mean nothing, and stay", async () => {
  const dataDir = tempDir();
  await foreignSocket(dataDir, "of-somebody", "hello\n");
  const files = {
    "collector.pid": String(process.pid),
    [STALE]: "a plain file of a socket's name",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dataDir, "collector", name), text);
  symlinkSync("of-somebody", join(dataDir, "collector", "79-00000000000000cc-0123abcd-quotes-1"));
  writeFileSync(join(dataDir, "quotekeeper.pid"), "1");

  const { dead, warned } = await lock(dataDir);

  expect({ dead, warned }).toEqual({ dead: [], warned: [] });
  expect(readFileSync(join(dataDir, "collector", STALE), "utf8")).toBe(files[STALE]);
  expect(readdirSync(join(dataDir, "collector"))).toHaveLength(5);
});

test.each([
  ["says nothing", null],
  ["says what is no line of ours", "220 mail.example ESMTP\n"],
  ["says a line without an end", "x".repeat(100_000)],
  ["says JSON of another shape", '{"state":"holds","pid":"rm -rf"}\n'],
])("a socket of a collector's name that %s is named, after a wait that ends", async (_what, answer) => {
  const dataDir = tempDir();
  await foreignSocket(dataDir, STALE, answer);
  // Every wait is over as soon as the sockets have had their turn.
  const clock = createTestClock();

  const refused = await lock(dataDir, { clock }).catch((error: unknown) => error);

  expect(refused).toMatchObject({ code: "COLLECTOR_RUNNING" });
  expect((refused as Error).message).toContain("is locked by process 77 on quotes-1 since");
  expect((refused as Error).message).toContain(join(dataDir, "collector", STALE));
  expect(clock.monotonicMs()).toBeLessThan(20_000);
});

test("a socket of another machine is not judged: that is said, and the file stays", async () => {
  const dataDir = tempDir();
  await deadSocket(dataDir, "77-00000000000000aa-ffffffff-quotes-2");

  const { dead, warned } = await lock(dataDir);

  expect(dead).toEqual([]);
  expect(warned).toEqual([
    expect.stringMatching(/77-00000000000000aa-ffffffff-quotes-2 is of a collector on another machine/),
  ]);
  expect(readdirSync(join(dataDir, "collector"))).toContain("77-00000000000000aa-ffffffff-quotes-2");
});

test("who only looks for a collector makes nothing, and finds none where none is", async () => {
  const dataDir = tempDir();

  expect(await findCollector(dataDir, { clock: systemClock, self: HERE })).toBeNull();
  expect(readdirSync(dataDir)).toEqual([]);
});

/** A process of two contenders for the lock, which try each time they are told to, and say what came of it. */
function contenders(program: string, dataDir: string) {
  const script = `
    const { lockDataDir, thisProcess } = await import(${JSON.stringify(join(program, "dist/collector/beside/lock.js"))});
    const { systemClock: clock } = await import(${JSON.stringify(join(program, "dist/ground/clock.js"))});
    const { createInterface } = await import("node:readline");
    const self = await thisProcess();
    const contend = () => lockDataDir(${JSON.stringify(dataDir)}, { clock, self, warn: (message) => console.log(message) })
      .then(() => console.log("holds"), (error) => console.log(error.message));
    createInterface({ input: process.stdin }).on("line", () => void [contend(), contend()]);
    console.log("ready");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  return {
    pid: child.pid,
    ready: next(),
    contend: (): Promise<string[]> => {
      child.stdin.write("go\n");
      return Promise.all([next(), next()]);
    },
    kill: async (): Promise<void> => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

test("of twenty contenders at once exactly one holds the lock, the others name it; killed, another takes it at once", async () => {
  const root = tempDir();
  compileModules(root, "collector/beside/lock", "ground/clock");
  const dataDir = tempDir();
  let processes = Array.from({ length: 10 }, () => contenders(root, dataDir));
  await Promise.all(processes.map(({ ready }) => ready));

  for (let round = 0; round < 6; round += 1) {
    const said = await Promise.all(processes.map((one) => one.contend()));

    expect(said.flat().filter((line) => line === "holds")).toHaveLength(1);
    const holder = processes.find((_, index) => said[index]?.includes("holds"));
    for (const line of said.flat())
      if (line !== "holds") expect(line).toContain(`is collected by process ${holder?.pid} on `);
    await holder?.kill();
    processes = processes.filter((one) => one !== holder);
  }
});

test("a collector whose data directory was removed makes its socket again, and a second one is refused", async () => {
  const dataDir = join(tempDir(), "data");
  const warn = (): void => undefined;
  const first = await lockDataDir(dataDir, { clock: systemClock, self: HERE, warn, lookEveryMs: 20 });
  held.push(first);
  rmSync(dataDir, { recursive: true });

  await until(() => existsSync(join(dataDir, "collector")) && sockets(dataDir).length > 0, "its socket");

  await expect(lock(dataDir)).rejects.toThrow("COLLECTOR_RUNNING");
  expect(sockets(dataDir)).toEqual([expect.stringContaining(first.id)]);
});

function sockets(dataDir: string): string[] {
  return readdirSync(join(dataDir, "collector")).filter((file) => !file.startsWith("new-"));
}

test("a command that polls once leaves the lock to a collector that wants it, and is refused beside one", async () => {
  const dataDir = tempDir();
  const options = { clock: systemClock, self: HERE, warn: () => undefined };
  const command = await lockDataDir(dataDir, { ...options, work: ASKING });
  const second = lockDataDir(dataDir, { ...options, work: ASKING });
  await expect(second).rejects.toMatchObject({ code: "COLLECTOR_RUNNING" });

  const collector = lockDataDir(dataDir, options);
  await command.wanted;
  const before = await findCollector(dataDir, options);
  await command.release();
  const held = await collector;

  expect(before).toMatchObject({ once: true });
  expect(await findCollector(dataDir, options)).toMatchObject({ once: false });
  await expect(lockDataDir(dataDir, { ...options, work: ASKING })).rejects.toMatchObject({
    code: "COLLECTOR_RUNNING",
  });
  await held.release();
});

test("a command that stands still holds up no collector: its socket goes, and it knows that by then", async () => {
  const dataDir = tempDir();
  const warned: string[] = [];
  const command = await lockDataDir(dataDir, {
    clock: systemClock,
    self: HERE,
    warn: () => undefined,
    work: ASKING,
  });
  const [file = ""] = readdirSync(join(dataDir, "collector"));
  // Who listens there says nothing from now on.
  rmSync(join(dataDir, "collector", file));
  await foreignSocket(dataDir, file, null);

  const clock = createTestClock();
  const collector = await lockDataDir(dataDir, { clock, self: HERE, warn: (line) => void warned.push(line) });

  expect(warned).toEqual([
    expect.stringContaining("What it polls is taken over, and it makes no more calls"),
  ]);
  expect(command.isHeld()).toBe(false);
  await collector.release();
  await command.release();
});
