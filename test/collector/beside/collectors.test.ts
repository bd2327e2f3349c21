/** Collectors beside each other, and polls and sweeps beside one: real processes, sockets and databases. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createProxy } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { runProgram } from "../../../src/cli/program.ts";
import { readSegment } from "../../../src/journal/reader.ts";
import { listSegments } from "../../../src/journal/segments.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { freshDatabase } from "../../support/database.ts";
import { accountAt, TEST_CREDENTIALS } from "../../support/simulatedService.ts";
import { closedPort } from "../../support/stubService.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { type CapturedEdges, capturedEdges, run } from "../../cli/edges.ts";

// Collectors run for whole windows, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const BODY = readFileSync(new URL("../../recorded/option-call/response.xml", import.meta.url));

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** A service that says nothing of its count, and notes when each call arrives, in ms, and by which token. */
async function startService() {
  const arrivals: { atMs: number; token: string }[] = [];
  const server = createServer((request, response) => {
    const token = /oauth_token="([^"]*)"/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    arrivals.push({ atMs: performance.now(), token });
    response.writeHead(200, { "Content-Type": "application/xml; charset=UTF-8" }).end(BODY);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  closers.push(() => server.close().closeAllConnections());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

function account(baseUrl: string, token = TEST_CREDENTIALS.accessToken): Record<string, string> {
  return { ...accountAt(baseUrl), QUOTES_ACCESS_TOKEN: token };
}

/** A data directory with jobs of its own: so many contracts every two seconds. */
function settings(
  databaseUrl: string,
  contracts = 1,
): Record<string, string> & { QUOTEKEEPER_DATA_DIR: string } {
  const root = tempDir();
  mkdirSync(join(root, "jobs"));
  const strikes = Array.from({ length: contracts }, (_, index) => 120 + index);
  writeFileSync(
    join(root, "jobs", "job.yaml"),
    `name: calls\nschedule: "*/2 * * * * *"\nsession: always\noptions:\n${strikes
      .map((strike) => `  - { underlying: MRDN, expiration: 2027-01-15, type: CALL, strike: ${strike} }\n`)
      .join("")}`,
  );
  return {
    DATABASE_URL: databaseUrl,
    QUOTEKEEPER_DATA_DIR: join(root, "data"),
    QUOTEKEEPER_JOBS_DIR: join(root, "jobs"),
    QUOTES_LIMIT: "10",
    QUOTES_LIMIT_WINDOW_MS: "2000",
  };
}

/** A collector in this process. */
function startHere(
  env: Record<string, string>,
  command = "collect",
): CapturedEdges & { ended: Promise<number> } {
  const edges = capturedEdges({ env });
  const ended = runProgram([command], edges.edges);
  closers.push(async () => {
    edges.interrupt();
    await ended;
  });
  return { ...edges, ended };
}

const root = tempDir();
let bin: string | null = null;

/** A collector, or another command, in a process of its own. */
function startApart(env: Record<string, string>, argv: readonly string[] = ["collect"]) {
  bin ??= compileProgram(root);
  const child: ChildProcess = spawn(process.execPath, [bin, ...argv], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  closers.push(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "close").then(([code]) => code as number | null);
  return {
    pid: child.pid,
    output: () => output,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
  };
}

type Row = { pid: number; fence: string; released: boolean };

/** The leases, and whose they are. */
async function rows(pool: pg.Pool): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select c.pid, l.fence::text, l.released from leases l join collectors c on c.id = l.holder
     order by l.account_id`,
  );
  return rows;
}

/** Processes of collectors that have joined and not said that they end. */
async function joined(pool: pg.Pool): Promise<number> {
  return (await pool.query("select from collectors where not stopped")).rowCount ?? 0;
}

/** On a slow machine a collector's end cannot wait for its last load: it says so, and exits with 1. */
const LOADED_LATER = "is safe in the journal and is loaded at the next start";

async function expectOrderlyEnd(
  collector: ReturnType<typeof startHere> | ReturnType<typeof startApart>,
): Promise<void> {
  const code = await collector.ended;
  const said = "output" in collector ? collector.output() : collector.stdout();
  expect({ code, said }).toEqual({ code: said.includes(LOADED_LATER) ? 1 : 0, said });
}

async function answersIn(dataDir: string): Promise<{ requestedMs: number }[]> {
  const dir = join(dataDir, "journal");
  const answers: { requestedMs: number }[] = [];
  for (const { name } of await listSegments(dir))
    for await (const item of readSegment(dir, name))
      if (item.kind === "record" && item.record.kind === "response")
        answers.push({ requestedMs: Date.parse(item.record.requestedAt) });
  return answers;
}

test("a second collector on the same data directory ends with exit code 2 before any call, and names the first", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl) };
  const first = startHere(env);
  await until(
    async () => (await rows(pool)).length === 1 && service.arrivals.length > 0,
    "the first one's calls",
  );

  const second = await run(["collect"], env);

  expect(second).toMatchObject({ exitCode: 2, stdout: "" });
  expect(second.stderr).toContain(
    `COLLECTOR_RUNNING: ${env.QUOTEKEEPER_DATA_DIR} is collected by process ${process.pid} on ${hostname()} since `,
  );
  first.interrupt();
  await expectOrderlyEnd(first);
  expect(await rows(pool)).toMatchObject([{ released: true }]);
});

test("a second collector with the same files stands by, and goes on at once with what the first one releases", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const [one, other] = [settings(url), settings(url)].map((env) => ({
    ...env,
    ...account(service.baseUrl),
  }));
  if (!one || !other) throw new Error("there are two");
  const first = startHere(one);
  await until(() => service.arrivals.length > 0, "the first one's calls");
  const second = startApart(other);
  await until(async () => (await joined(pool)) === 2, `the second one; it said: ${second.output()}`);
  await until(() => service.arrivals.length > 2, "another slot");
  const before = await answersIn(other.QUOTEKEEPER_DATA_DIR);

  first.interrupt();
  await expectOrderlyEnd(first);
  await until(async () => (await rows(pool))[0]?.pid === second.pid, "the take-over");
  await until(async () => (await answersIn(other.QUOTEKEEPER_DATA_DIR)).length > 0, "its first answer");
  second.kill("SIGTERM");

  expect(before).toEqual([]);
  await expectOrderlyEnd(second);
  const history = await pool.query<{ how: string }>("select how from lease_history order by fence");
  expect(history.rows.map(({ how }) => how)).toEqual(["new", "released"]);
  const kept = JSON.stringify((await pool.query("select * from collectors, leases")).rows);
  for (const secret of Object.values(TEST_CREDENTIALS)) {
    expect(second.output()).not.toContain(secret);
    expect(kept).not.toContain(secret);
  }
});

test("a second collector with another account, or without one, ends with exit code 2 before any call, and says what differs", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const first = startHere({ ...settings(url), ...account(service.baseUrl, "token-a") });
  await until(async () => (await rows(pool)).length === 1, "the first one's lease");
  const port = await closedPort();
  const env = { ...settings(url), QUOTEKEEPER_HTTP_PORT: String(port) };

  const another = await run(["start"], { ...env, ...account(service.baseUrl, "token-b") });
  const simulated = await run(["start"], env);

  for (const { exitCode, stdout, stderr } of [another, simulated]) {
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("COLLECTOR_DIFFERS: ");
    expect(stderr).toContain(
      `is collected by ${hostname()} with other files: the account default (not the same)`,
    );
  }
  expect(service.arrivals.some(({ token }) => token === "token-b")).toBe(false);
  await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  first.interrupt();
  await expectOrderlyEnd(first);
});

test("a collector that is stopped is replaced, and stands by when it goes on; one that is killed is replaced at once", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl) };
  const first = startApart(env);
  await until(() => service.arrivals.length > 0, `the first one's calls; it said: ${first.output()}`);
  const beside = { ...settings(url), ...account(service.baseUrl) };

  first.kill("SIGSTOP");
  const second = startHere(beside);
  await until(async () => (await rows(pool))[0]?.pid === process.pid, "the take-over");
  const replacedAtMs = Date.now();
  first.kill("SIGCONT");
  await until(() => first.output().includes("another collector calls the account"), "the first one's word");
  first.kill("SIGTERM");

  await expectOrderlyEnd(first);
  const late = (await answersIn(env.QUOTEKEEPER_DATA_DIR)).filter(
    ({ requestedMs }) => requestedMs > replacedAtMs,
  );
  expect(late).toEqual([]);
  second.interrupt();
  await expectOrderlyEnd(second);

  const killed = startApart(env);
  const before = service.arrivals.length;
  await until(() => service.arrivals.length > before, `calls again; it said: ${killed.output()}`);
  killed.kill("SIGKILL");
  await killed.ended;
  const next = startHere(env);
  // Its data directory's lock proves the other one's death: nothing is waited for.
  await until(async () => {
    const history = await pool.query("select from lease_history where how = 'restarted'");
    return history.rowCount === 1;
  }, "its lease");
  next.interrupt();
  await expectOrderlyEnd(next);
});

test("while the database is away a collector collects; when it is back, one that finds another there stands by", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const first = startHere({ ...settings(url), ...account(service.baseUrl) });
  await until(async () => (await rows(pool)).length === 1, "the first one's row");
  // The port of a proxy that is not there yet.
  const port = await closedPort();
  const away = new URL(url);
  const target = { host: away.hostname, port: Number(away.port || 5432) };
  const socketHost = away.searchParams.get("host");
  away.host = `127.0.0.1:${port}`;
  away.searchParams.delete("host");
  const env = { ...settings(away.href), ...account(service.baseUrl) };
  const second = startHere(env);
  await until(
    async () => (await answersIn(env.QUOTEKEEPER_DATA_DIR).catch(() => [])).length > 0,
    "answers in the journal",
  );

  const proxy = createProxy((socket) => {
    const server = socketHost
      ? connect(`${socketHost}/.s.PGSQL.${target.port}`)
      : connect(target.port, target.host);
    socket.pipe(server).pipe(socket);
    for (const end of [socket, server])
      end.on("error", () => [socket, server].forEach((one) => one.destroy()));
  });
  await once(proxy.listen(port, "127.0.0.1"), "listening");
  closers.push(() => proxy.close());
  await until(() => second.stderr().includes("another collector calls the account"), "its word");
  second.interrupt();

  await expectOrderlyEnd(second);
  expect(await rows(pool)).toMatchObject([{ fence: "1", released: false }]);
  first.interrupt();
  await expectOrderlyEnd(first);
});

/** The most calls that a sliding window held, by the service's own log. */
function mostInWindow(arrivals: readonly { atMs: number }[], windowMs: number): number {
  return Math.max(
    ...arrivals.map(
      ({ atMs }) => arrivals.filter((other) => other.atMs <= atMs && other.atMs > atMs - windowMs).length,
    ),
  );
}

/** Who asked for how many of the answers in the archive; null: nobody's job. */
async function askedBy(pool: pg.Pool): Promise<Map<string | null, number>> {
  const { rows: asked } = await pool.query<{ job: string | null; calls: number }>(
    "select split_part(job, ' ', 1) as job, count(*)::int as calls from responses group by 1",
  );
  return new Map(asked.map(({ job, calls }) => [job, calls]));
}

test("polls beside a collector that needs every call keep within the limit with it, though the service tells no count", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url, 40), ...account(service.baseUrl) };
  const collector = startHere(env);
  await until(() => service.arrivals.length >= 20, "two windows of calls");

  const polls = [];
  for (let poll = 0; poll < 4; poll += 1)
    polls.push(await run(["poll", "--option", "MRDN:2027-01-15:CALL:120"], env));
  const soFar = service.arrivals.length;
  await until(() => service.arrivals.length >= soFar + 10, "a window more");
  collector.interrupt();
  await collector.ended;

  expect(polls.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
  expect(mostInWindow(service.arrivals, 2_000)).toBeLessThanOrEqual(10);
  const asked = await askedBy(pool);
  expect(asked.get("once:poll")).toBe(4);
  expect((asked.get("calls") ?? 0) + 4).toBe(service.arrivals.length);
});

test("a sweep beside a collector takes what that one leaves, and together they keep within the limit", async () => {
  const { url, pool } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url, 3), ...account(service.baseUrl) };
  const list = join(tempDir(), "contracts.txt");
  writeFileSync(
    list,
    Array.from({ length: 12 }, (_, index) => `MRDN:2027-01-15:CALL:${120 + index}\n`).join(""),
  );
  const collector = startHere(env);
  await until(() => service.arrivals.length >= 6, "two slots' calls");

  const sweep = startApart(env, ["backfill", "--symbols-file", list, "--json"]);
  await sweep.ended;
  collector.interrupt();
  await collector.ended;

  expect(sweep.output()).toContain('"answers": 12');
  expect(readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "once"))).toEqual([]);
  expect(mostInWindow(service.arrivals, 2_000)).toBeLessThanOrEqual(10);
  const asked = [...(await askedBy(pool)).values()];
  expect(asked.reduce((sum, calls) => sum + calls, 0)).toBe(service.arrivals.length);
  // The schedule has lost nothing to the sweep; a busy machine may have lost it slots.
  const { rows: lost } = await pool.query("select from misses where reason in ('budget', 'refused')");
  expect(lost).toEqual([]);
});

test("a sweep beside a collector that needs every call says why it waits, and stays to be gone on with when it is interrupted", async () => {
  const { url } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url, 40), ...account(service.baseUrl) };
  const collector = startHere(env);
  await until(() => service.arrivals.length >= 10, "a window of calls");

  const sweep = startApart(env, ["backfill", "--symbols-file", contractsFile(3)]);
  const why =
    "Waiting: the jobs leave none of 10 calls in 2 s within the next 32 s: 3 calls to wait until they do.";
  await until(() => sweep.output().includes(why), "the reason");
  sweep.kill("SIGINT");
  await sweep.ended;
  collector.interrupt();
  await collector.ended;

  expect(sweep.output()).toMatch(
    /Process \d+ collects here, and makes the calls as its budget and its jobs leave/,
  );
  expect(sweep.output().split(why)).toHaveLength(2);
  expect(readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "once"))).toEqual([expect.stringMatching(/\.left$/)]);
});

/** Contracts of a symbols file that no job polls. */
function contractsFile(count: number): string {
  const path = join(tempDir(), "contracts.txt");
  const line = (_: unknown, place: number): string => `MRDN:2027-01-15:CALL:${200 + place}\n`;
  writeFileSync(path, Array.from({ length: count }, line).join(""));
  return path;
}

/** The calls of one-off jobs in a journal, as they were asked. */
async function askedOnce(dataDir: string): Promise<string[]> {
  const dir = join(dataDir, "journal");
  const asked: string[] = [];
  for (const { name } of await listSegments(dir))
    for await (const item of readSegment(dir, name))
      if (
        item.kind === "record" &&
        item.record.kind === "response" &&
        item.record.jobs[0]?.startsWith("once:")
      )
        asked.push(JSON.stringify(item.record.request));
  return asked;
}

test("a collector that is started while a command polls does not end for it, and takes the rest over: nothing is asked twice", async () => {
  const { url } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl) };
  const sweep = startApart(env, ["backfill", "--symbols-file", contractsFile(40), "--json"]);
  await until(() => service.arrivals.length >= 5, `the command's calls; it said: ${sweep.output()}`);

  const collector = startHere(env);
  await until(
    async () =>
      (await readFile(join(env.QUOTEKEEPER_DATA_DIR, "unaccounted.json")).catch(() => null)) !== null,
    "its start",
  );
  await sweep.ended;
  collector.interrupt();
  await collector.ended;

  expect(sweep.output()).toContain('"answers": 40');
  const asked = await askedOnce(env.QUOTEKEEPER_DATA_DIR);
  expect(asked).toHaveLength(40);
  expect(new Set(asked).size).toBe(40);
  expect(mostInWindow(service.arrivals, 2_000)).toBeLessThanOrEqual(10);
  expect(readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "once"))).toEqual([]);
});

test("of two commands at once the second gives its job to the first, and both print what they asked for", async () => {
  const { url } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl) };
  const sweep = startApart(env, ["backfill", "--symbols-file", contractsFile(30), "--json"]);
  await until(() => service.arrivals.length >= 3, `the first one's calls; it said: ${sweep.output()}`);

  const poll = await run(["poll", "--option", "MRDN:2027-01-15:CALL:120", "--json"], env);
  const polledAfter = service.arrivals.length;
  await sweep.ended;

  expect(poll.exitCode).toBe(0);
  expect(JSON.parse(poll.stdout)).toMatchObject({ errors: [] });
  // It did not wait for the end of the other one's thirty calls.
  expect(polledAfter).toBeLessThan(31);
  expect(sweep.output()).toContain('"answers": 30');
  expect(await askedOnce(env.QUOTEKEEPER_DATA_DIR)).toHaveLength(31);
  expect(mostInWindow(service.arrivals, 2_000)).toBeLessThanOrEqual(10);
});

test("an account that the collector does not call is said in a sentence, and nobody is asked", async () => {
  const { url } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl, "token-a") };
  const collector = startHere(env);
  await until(() => service.arrivals.length > 0, "its calls");

  const poll = await run(["poll", "--symbols", "AAPL"], { ...env, ...account(service.baseUrl, "token-b") });
  collector.interrupt();
  await collector.ended;

  expect(poll).toMatchObject({ exitCode: 1, stdout: "" });
  expect(poll.stderr).toContain(
    "ACCOUNT_NOT_CALLED: the collector of this data directory calls default with other settings. Ask where",
  );
  expect(service.arrivals.every(({ token }) => token === "token-a")).toBe(true);
  expect(readdirSync(join(env.QUOTEKEEPER_DATA_DIR, "once"))).toEqual([]);
});

test("a file that is no job is told once and set aside, and the others go on", async () => {
  const { url } = await freshDatabase();
  const service = await startService();
  const env = { ...settings(url), ...account(service.baseUrl) };
  const once = join(env.QUOTEKEEPER_DATA_DIR, "once");
  mkdirSync(once, { recursive: true });
  writeFileSync(join(once, "20261120T225000.000001Z.json"), "{");
  const collector = startHere(env);

  const poll = await run(["poll", "--option", "MRDN:2027-01-15:CALL:120"], env);
  collector.interrupt();
  await collector.ended;

  expect(poll.exitCode).toBe(0);
  expect(readdirSync(once)).toEqual(["20261120T225000.000001Z.json.broken"]);
  expect(collector.stderr().match(/is no job to poll once, and is set aside/g)).toHaveLength(1);
});
