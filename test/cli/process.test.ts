/** What only a process of its own shows: readers that go away, full disks, Ctrl-C. */
import { accountKey } from "../../src/accounts/account.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { processEdges } from "../../src/ground/edges.ts";
import { runProgram } from "../../src/cli/program.ts";
import { readCalls } from "../../src/collect/callLog.ts";
import { CONCURRENCY } from "../../src/collect/dispatcher.ts";
import { countWaiting } from "../support/archive.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { answerXml } from "../support/xml.ts";
import { capturedEdges } from "./edges.ts";

// Programs are killed and started again, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const { url, pool } = await freshDatabase();
const bin = compileProgram(tempDir());
const cwd = tempDir();
mkdirSync(join(cwd, "jobs"));
writeFileSync(join(cwd, "jobs", "job.yaml"), 'name: job\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
const env = { PATH: process.env["PATH"], DATABASE_URL: url, SHLVL: "1" };

/** Runs a line of bash in which `quotekeeper` is the program; prints the exit codes of its pipe. */
function inPipe(line: string): { codes: string; stderr: string } {
  const script = `quotekeeper() { '${process.execPath}' '${bin}' "$@"; }; ${line}; echo "codes \${PIPESTATUS[*]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], {
    cwd,
    env,
    encoding: "utf8",
  });
  return { codes: /codes ([\d ]+)/.exec(stdout)?.[1] ?? "", stderr };
}

test("a closed pipe of the reader ends no command with an error", () => {
  expect(inPipe("quotekeeper calendar --from 2020-01-01 --to 2026-12-31 | head -n 1")).toEqual({
    codes: "0 0",
    stderr: "",
  });
});

test("a closed pipe of the reader leaves a command its exit code", () => {
  expect(inPipe("QUOTEKEEPER_JOBS_DIR=/nowhere quotekeeper status | true").codes).toBe("1 0");
});

test("a closed pipe of the reader ends a watch", () => {
  expect(inPipe("quotekeeper status --watch 1 | head -n 1")).toEqual({ codes: "0 0", stderr: "" });
});

const onLinux = existsSync("/dev/full") ? test : test.skip;

onLinux("results that cannot be written are a failure, and it says so", () => {
  const { codes, stderr } = inPipe("quotekeeper calendar --from 2026-11-20 --to 2026-11-20 > /dev/full");

  expect(codes).toBe("1");
  expect(stderr).toBe("The results cannot be written (ENOSPC).\n");
});

test("Ctrl-C ends a command that waits for the database, and leaves no connection behind", async () => {
  const holder = await pool.connect();
  await holder.query("begin; lock table slots in access exclusive mode");
  const { edges, stderr, interrupt } = capturedEdges({ env: { DATABASE_URL: url } });

  const running = runProgram(["coverage", "--from", "2026-11-20", "--to", "2026-11-20"], edges);
  await someStatementWaits();
  interrupt();

  expect(await running).toBe(130);
  expect(stderr()).toBe("");
  await holder.query("rollback");
  holder.release();
});

/** Until some statement waits for the lock. */
async function someStatementWaits(): Promise<void> {
  await until(async () => (await countWaiting(pool)) !== 0, "a statement that waits");
}

const LIMIT = 30;
const WINDOW_MS = 3_000;

/** A service that counts arrivals in a sliding window, by its own clock, and answers after a moment. */
async function countingService() {
  const arrivedAtMs: number[] = [];
  let refused = 0;
  const server = createServer((_request, response) => {
    const nowMs = performance.now();
    const counted = arrivedAtMs.filter((at) => at > nowMs - WINDOW_MS).length;
    arrivedAtMs.push(nowMs);
    if (counted >= LIMIT) refused += 1;
    setTimeout(() => {
      response.writeHead(counted >= LIMIT ? 429 : 200, { "Content-Type": "application/xml" });
      response.end(answerXml());
    }, 100);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { server, arrivedAtMs, refused: () => refused, baseUrl: `http://127.0.0.1:${port}` };
}

test("a collector that is killed twice under full load has no call refused, and notes every call that the service has seen", async () => {
  const service = await countingService();
  const dataDir = tempDir();
  const jobsDir = tempDir();
  const strikes = Array.from({ length: 400 }, (_, strike) => strike + 1);
  const options = strikes.map((strike) => ({
    underlying: "GE",
    expiration: "2099-01-16",
    type: "CALL",
    strike,
  }));
  writeFileSync(
    join(jobsDir, "job.yaml"),
    JSON.stringify({ name: "job", schedule: "* * * * *", session: "always", options }),
  );
  const settings = {
    ...{ ...env, QUOTEKEEPER_DATA_DIR: dataDir, QUOTEKEEPER_JOBS_DIR: jobsDir },
    ...{ ...accountAt(service.baseUrl), QUOTES_LIMIT: `${LIMIT}`, QUOTES_LIMIT_WINDOW_MS: `${WINDOW_MS}` },
  };
  const governor = { limit: LIMIT, windowMs: WINDOW_MS };
  const { clock, bootId } = processEdges();
  const account = accountKey(loadConfig(settings, dataDir));
  const noted = new Set<string>();
  for (let kill = 1; kill <= 2; kill += 1) {
    const before = service.arrivedAtMs.length;
    const child = spawn(process.execPath, [bin, "collect"], { cwd, env: settings, stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await until(() => service.arrivedAtMs.length >= before + 40, "40 calls more");
    child.kill("SIGKILL");
    await ended;

    // Noted before it leaves: those that have not arrived were under way.
    readCalls({ dataDir, account, governor, clock, bootId }).requestIds.forEach((id) => noted.add(id));
    expect(noted.size).toBeGreaterThanOrEqual(service.arrivedAtMs.length);
    expect(noted.size).toBeLessThanOrEqual(service.arrivedAtMs.length + kill * CONCURRENCY);
  }
  service.server.close().closeAllConnections();

  expect(service.refused()).toBe(0);
  const inWindows = service.arrivedAtMs.map(
    (end) => service.arrivedAtMs.filter((at) => at > end - WINDOW_MS && at <= end).length,
  );
  expect(Math.max(...inWindows)).toBeLessThanOrEqual(LIMIT);
});
