/** The rhythm of heartbeats, what `status` says of them, and a collector's own. */
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { runProgram } from "../../src/cli/program.ts";
import { openArchive } from "../../src/archive/openArchive.ts";
import { collectorsHeartbeat, keepHeartbeat } from "../../src/status/heartbeat.ts";
import { heartbeatLines } from "../../src/status/heartbeatState.ts";
import { abandonConnections } from "../../src/archive/connect/connect.ts";
import { capturedEdges, run } from "../cli/edges.ts";
import { type Clock, systemClock } from "../../src/ground/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { silentLog } from "../support/silentLog.ts";
import { steppedClock } from "../support/steppedClock.ts";
import { startStubService } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

// A collector begins and ends, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const closers: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const UP = "/ping/8f2b-secret";
const FAIL = "/ping/8f2b-secret/fail";

/** A heartbeat whose minutes a test counts. */
async function beating({ isHealthy, fail = true }: { isHealthy: () => Promise<boolean>; fail?: boolean }) {
  const monitor = await startStubService({});
  const stepped = steppedClock();
  const dataDir = tempDir();
  let minutes = 0;
  const clock = {
    ...stepped.clock,
    sleep: (ms: number, signal?: AbortSignal) => {
      // The wait for the next beat, not that for a verdict.
      if (ms > 15_000) minutes += 1;
      return stepped.clock.sleep(ms, signal);
    },
  };
  const said: string[] = [];
  const say = (fields: object, message: string): void =>
    void said.push(`${message} ${JSON.stringify(fields)}`);
  const urls = {
    heartbeatUrl: `${monitor.baseUrl}${UP}`,
    heartbeatFailUrl: fail ? `${monitor.baseUrl}${FAIL}` : undefined,
  };
  const log = { debug: say, info: say, warn: say, error: say };
  const heartbeat = keepHeartbeat({ ...urls, dataDir, clock, log, isHealthy });
  closers.push(heartbeat.close);
  await until(() => minutes === 1, "the first wait");
  return {
    monitor,
    heartbeat,
    said,
    stepped,
    /** Goes through the next beat. @returns what was asked for in it, by its path */
    minute: async (): Promise<string[]> => {
      const [before, asked] = [minutes, monitor.requests.length];
      stepped.step();
      await until(() => minutes > before, "the beat's end");
      return monitor.requests.slice(asked).map(({ target }) => target);
    },
    line: async () => (await heartbeatLines({ ...urls, dataDir }, stepped.clock.now()))[0],
    host: new URL(monitor.baseUrl).host,
  };
}

test("a GET is sent each minute while all is well, the first a minute after the start", async () => {
  const { monitor, minute, line, host } = await beating({ isHealthy: async () => true });
  const before = [monitor.requests.length, await line()];

  const asked = [await minute(), await minute(), await minute()];

  expect(before).toEqual([0, { subject: "heartbeat", state: "idle", text: `${host} has got none yet` }]);
  expect(asked).toEqual([[UP], [UP], [UP]]);
  expect(await line()).toEqual({
    subject: "heartbeat",
    state: "ok",
    text: `to ${host}, the last that was taken is of 2026-11-22 00:52:00 New York`,
  });
});

test("while something needs a person none is sent, and the failure's address is asked at the change and each ten minutes", async () => {
  let healthy = true;
  const { minute, line } = await beating({ isHealthy: async () => healthy });
  await minute();
  healthy = false;

  const asked: string[][] = [];
  for (let each = 0; each < 21; each += 1) asked.push(await minute());
  const held = await line();
  healthy = true;
  const again = [await minute(), await minute()];
  healthy = false;
  const changed = await minute();

  expect(asked.map((each) => each.join())).toEqual(
    Array.from({ length: 21 }, (_, place) => (place % 10 === 0 ? FAIL : "")),
  );
  expect(held).toMatchObject({
    state: "idle",
    text: "held back since 2026-11-22 00:51:00 New York, because something needed a person, the last that was taken is of 2026-11-22 00:50:00 New York",
  });
  expect([again, changed]).toEqual([[[UP], [UP]], [FAIL]]);
});

test("without an address for failures there is silence while something needs a person", async () => {
  const { minute } = await beating({ isHealthy: async () => false, fail: false });

  expect([await minute(), await minute()]).toEqual([[], []]);
});

test("a failure's address that does not take it is asked again the next minute", async () => {
  const { monitor, minute } = await beating({ isHealthy: async () => false });
  monitor.answerWith({ status: 500 });
  const failed = [await minute(), await minute()];
  monitor.answerWith({});
  const taken = [await minute(), await minute()];

  expect([failed, taken]).toEqual([
    [[FAIL], [FAIL]],
    [[FAIL], []],
  ]);
});

test("a heartbeat that is not taken is one line of status that needs nobody, said once in the log, and goes on", async () => {
  const { monitor, minute, line, said, host } = await beating({ isHealthy: async () => true });
  monitor.answerWith({ status: 503 });
  const asked = [await minute(), await minute()];
  const failing = await line();
  monitor.answerWith({});
  await minute();

  expect(asked).toEqual([[UP], [UP]]);
  expect(failing).toEqual({
    subject: "heartbeat",
    state: "idle",
    text: `NOT TAKEN by ${host} since 2026-11-22 00:50:00 New York: HTTP 503`,
  });
  expect(await line()).toMatchObject({ state: "ok" });
  expect(said).toEqual([
    `the heartbeat was not taken; collection goes on ${JSON.stringify({ host, reason: "HTTP 503" })}`,
    `the heartbeat is taken again ${JSON.stringify({ host })}`,
  ]);
});

test("a verdict that fails, or does not come, is none: the failure's address is asked", async () => {
  const verdicts = [
    () => Promise.reject(new Error("no verdict")),
    () => new Promise<boolean>(() => undefined),
  ];
  const { monitor, minute, stepped } = await beating({
    isHealthy: () => (verdicts.shift() ?? (async () => true))(),
  });

  const rejected = await minute();
  monitor.requests.length = 0;
  // The look hangs: its deadline passes next, and the minute after that joins the same look.
  stepped.step();
  await until(() => stepped.asleep() === 1, "the look");
  const hanging = await minute();

  expect([rejected, hanging]).toEqual([[FAIL], []]);
  expect(verdicts).toEqual([]);
});

test("the end of the collector waits neither for a look nor for a monitor that hangs", async () => {
  const hanging = await beating({ isHealthy: () => new Promise(() => undefined) });
  hanging.stepped.step();
  await until(() => hanging.stepped.asleep() === 1, "the look");
  await hanging.heartbeat.close();

  const server = createServer((socket) => void socket.on("error", () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stepped = steppedClock();
  let connected = false;
  server.on("connection", () => (connected = true));
  const heartbeat = keepHeartbeat({
    ...{
      heartbeatUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      heartbeatFailUrl: undefined,
    },
    ...{ dataDir: tempDir(), clock: stepped.clock, log: silentLog, isHealthy: async () => true },
  });
  await until(() => stepped.asleep() === 1, "the first wait");
  stepped.step();
  await until(() => connected, "the GET");
  await heartbeat.close();
  server.close();

  expect(connected).toBe(true);
});

/** A way to a database that a test can make silent: connections stay open, and nothing passes. */
async function silentWay(url: string) {
  const to = new URL(url);
  const port = Number(to.port);
  let silent = false;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, to.hostname);
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      sockets.add(one);
      one.on("data", (bytes) => silent || other.write(bytes)).on("error", () => undefined);
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  to.port = String((server.address() as AddressInfo).port);
  return {
    url: to.href,
    fallSilent: () => (silent = true),
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test("a database that falls silent, and one that is away, are not well", async () => {
  const { url } = await freshDatabase();
  const way = await silentWay(url);
  const monitor = await startStubService({});
  const jobs = tempDir();
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "0 0 1 1 *"\nsession: always\nsymbols: [AAPL]\n');
  const config = loadConfig(
    {
      ...{ DATABASE_URL: way.url, QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: tempDir() },
      QUOTEKEEPER_HEARTBEAT_URL: `${monitor.baseUrl}${UP}`,
      QUOTEKEEPER_HEARTBEAT_FAIL_URL: `${monitor.baseUrl}${FAIL}`,
    },
    tempDir(),
  );
  const stepped = steppedClock();
  const archive = await openArchive(config, stepped.clock);
  const heartbeat = collectorsHeartbeat({
    bootId: null,
    config,
    archive,
    clock: stepped.clock,
    log: silentLog,
  });
  const asked = async (target: string): Promise<void> => {
    const before = monitor.requests.length;
    await until(() => {
      // The wait for the next beat; of a look that hangs, its deadline.
      if (stepped.asleep() > 0 && monitor.requests.length === before) stepped.step();
      return monitor.requests.length > before;
    }, target);
    expect(monitor.requests.at(-1)?.target).toBe(target);
  };

  await until(() => stepped.asleep() === 1, "the first wait");
  stepped.step();
  await until(() => monitor.requests.length === 1, "the first beat");
  const first = monitor.requests[0]?.target;
  way.fallSilent();
  await asked(FAIL);
  way.close();
  await asked(FAIL);
  await heartbeat.close();
  abandonConnections(archive.pool);
  await archive.close();

  expect(first).toBe(UP);
});

test("a collector sends its heartbeat outside the budget, ends at once, and shows its host alone", async () => {
  const { url, pool } = await freshDatabase();
  const monitor = await startStubService({});
  const [jobs, dataDir] = [tempDir(), tempDir()];
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "0 0 1 1 *"\nsession: always\nsymbols: [AAPL]\n');
  const secret = join(tempDir(), "heartbeat");
  writeFileSync(secret, `${monitor.baseUrl}${UP}\n`);
  const env = {
    ...{ DATABASE_URL: url, QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: dataDir },
    ...{ QUOTEKEEPER_LOG_LEVEL: "trace", QUOTEKEEPER_HEARTBEAT_URL_FILE: secret },
    QUOTEKEEPER_HEARTBEAT_FAIL_URL: `${monitor.baseUrl}${FAIL}`,
  };
  const { clock, passWaits } = minuteClock();
  const { edges, said, stdout, stderr, interrupt } = capturedEdges({ env, clock });
  const running = runProgram(["collect"], edges);
  await said(/Ctrl-C/);
  const asked = async (count: number): Promise<string | undefined> => {
    await until(() => (passWaits(), monitor.requests.length >= count), "a heartbeat");
    return monitor.requests[count - 1]?.target;
  };

  const well = await asked(1);
  await until(() => stateIn(dataDir), "the note of it");
  const { stdout: status } = await run(["status"], env);
  interrupt();
  await running;

  expect(well).toBe(UP);
  expect(status).toMatch(new RegExp(`^heartbeat ok +to ${new URL(monitor.baseUrl).host}, the last`, "m"));
  expect(stdout() + stderr() + status + String(stateIn(dataDir))).not.toContain("secret");
  expect((await pool.query("select from responses")).rowCount).toBe(0);
});

/** The machine's clock, but for waits of some minutes, as a heartbeat's: those are over when the test says so. */
function minuteClock(): { clock: Clock; passWaits: () => void } {
  const waiting = new Set<() => void>();
  const sleep = (signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.add(resolve);
      signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    });
  return {
    clock: {
      ...systemClock,
      sleep: (ms, signal) => (ms > 50_000 && ms < 600_000 ? sleep(signal) : systemClock.sleep(ms, signal)),
    },
    passWaits: () => {
      for (const pass of waiting) pass();
      waiting.clear();
    },
  };
}

function stateIn(dataDir: string): string | false {
  const file = join(dataDir, "heartbeat.json");
  return existsSync(file) && readFileSync(file, "utf8");
}
