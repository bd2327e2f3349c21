import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { signRequest } from "../../src/services/oauth/signature.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { type CapturedEdges, capturedEdges, run } from "./edges.ts";

const clock = createTestClock();

/** A running `serve`, ended by `end`. */
function serving(...flags: string[]) {
  return servingFrom(tempDir(), ...flags);
}

async function servingFrom(dataDir: string, ...flags: string[]) {
  const env = { QUOTEKEEPER_DATA_DIR: dataDir };
  const captured: CapturedEdges = capturedEdges({ clock, env });
  const ended = runProgram(["serve", "--source", "simulated", "--port", "0", ...flags], captured.edges);
  const [, baseUrl = ""] = await captured.said(/^QUOTES_BASE_URL=(\S+)$/m);
  const end = async (): Promise<number> => {
    captured.interrupt();
    return ended;
  };
  return { ...captured, baseUrl, end };
}

/** The lines NAME=value that `serve` prints, as an environment. */
function environmentIn(stdout: string): Record<string, string> {
  return Object.fromEntries(
    [...stdout.matchAll(/^(QUOTES_\w+)=(\S+)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
}

test("the lines that serve prints are all that a second quotekeeper needs, which stores the quotes as simulated", async () => {
  const service = await serving();
  const { url, pool } = await freshDatabase();
  const env = environmentIn(service.stdout());

  const outcome = await run(
    ["poll", "--symbols", "AAPL,MSFT"],
    { ...env, DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() },
    clock,
  );
  const exitCode = await service.end();

  expect(outcome).toMatchObject({ exitCode: 0, stderr: "" });
  expect(service.stdout()).toMatch(/^Market Quotes Service, SIMULATED market/);
  const { rows } = await pool.query(
    "select kind, count(*)::int from quotes join sources on sources.id = source_id group by kind",
  );
  expect(rows).toEqual([{ kind: "simulated", count: 2 }]);
  expect(exitCode).toBe(0);
});

test("serve --key knows that key alone, and never prints it", async () => {
  const service = await serving("--key", "canary-ck:canary-cs:canary-tk:canary-ts");
  const { url } = await freshDatabase();
  const env = {
    QUOTES_BASE_URL: service.baseUrl,
    QUOTES_CONSUMER_KEY: "canary-ck",
    QUOTES_CONSUMER_SECRET: "canary-cs",
    QUOTES_ACCESS_TOKEN: "canary-tk",
    QUOTES_ACCESS_TOKEN_SECRET: "canary-ts",
    DATABASE_URL: url,
    QUOTEKEEPER_DATA_DIR: tempDir(),
  };

  const known = await run(["poll", "--symbols", "AAPL"], env, clock);
  const unknown = await run(
    ["poll", "--symbols", "AAPL"],
    { ...env, QUOTES_CONSUMER_KEY: "canary-other" },
    clock,
  );
  await service.end();

  expect(known.exitCode).toBe(0);
  expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/SERVICE_UNAUTHORIZED/) });
  for (const { stdout, stderr } of [known, unknown]) expect(stdout + stderr).not.toContain("canary");
  expect(service.stdout() + service.stderr()).not.toContain("canary");
});

test("two services of one seed serve the same market, one of another seed does not", async () => {
  const lastOf = async (seed: string): Promise<string> => {
    const service = await serving("--seed", seed);
    const { url } = await freshDatabase();
    const env = { ...environmentIn(service.stdout()), DATABASE_URL: url, QUOTEKEEPER_DATA_DIR: tempDir() };
    const { stdout } = await run(["poll", "--symbols", "AAPL", "--json"], env, clock);
    await service.end();
    return (JSON.parse(stdout) as { quotes: { last: string }[] }).quotes[0]?.last ?? "";
  };

  const [first, again, other] = [await lastOf("7"), await lastOf("7"), await lastOf("8")];

  expect(first).toMatch(/^\d/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test("serve names a port that is taken, exit code 1, and leaves its data directory to the next one", async () => {
  const service = await serving();
  const { port } = new URL(service.baseUrl);

  const env = { QUOTEKEEPER_DATA_DIR: tempDir() };

  const first = await run(["serve", "--source", "simulated", "--port", port], env);
  const next = await run(["serve", "--source", "simulated", "--port", port], env);
  await service.end();

  for (const { exitCode, stdout, stderr } of [first, next]) {
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^PORT_IN_USE: 127\\.0\\.0\\.1:${port} is taken.*--port`));
  }
});

const LASTING = { consumerKey: "ck", consumerSecret: "cs", accessToken: "tk", accessTokenSecret: "ts" };
let nonces = 0;

/** A signed call, at the time of the clock. */
async function call(baseUrl: string, query = "symbols=AAPL&delayed=false") {
  const url = `${baseUrl}/v1/market/quotes.xml?${query}`;
  const timestamp = Math.floor(clock.now().getTime() / 1_000);
  const signing = { method: "GET", url, credentials: LASTING, timestamp, nonce: `n${++nonces}` };
  const { status, headers } = await fetch(url, { headers: { authorization: signRequest(signing) } });
  return { status, used: headers.get("x-ratelimit-used"), remaining: headers.get("x-ratelimit-remaining") };
}

test("a used-up limit of serve stays used up across a restart, until its window ends", async () => {
  const dataDir = tempDir();
  const first = await servingFrom(dataDir, "--key", "ck:cs:tk:ts");
  for (let calls = 0; calls < 60; calls += 1) await call(first.baseUrl);
  const before = await call(first.baseUrl);
  await first.end();

  clock.advance(30_000);
  const second = await servingFrom(dataDir, "--key", "ck:cs:tk:ts");
  const within = await call(second.baseUrl);
  clock.advance(30_000);
  const after = await call(second.baseUrl);
  await second.end();

  expect(before).toEqual({ status: 429, used: "60", remaining: "0" });
  expect(within).toEqual({ status: 429, used: "60", remaining: "0" });
  expect(after).toEqual({ status: 200, used: "1", remaining: "59" });
});

test("a second service on the same data directory is refused and told the first one's process; after that one it runs", async () => {
  const dataDir = tempDir();
  const first = await servingFrom(dataDir);
  const env = { QUOTEKEEPER_DATA_DIR: dataDir };

  // By the machine's own clock: it waits for the first one's answer.
  const refused = await run(["serve", "--source", "simulated", "--port", "0"], env);
  await first.end();
  const next = await servingFrom(dataDir);

  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toMatch(
    new RegExp(`^SERVE_RUNNING: ${dataDir} is served from by process ${process.pid} on .* New York\\.`),
  );
  expect(statSync(join(dataDir, "serve")).mode & 0o066).toBe(0);
  expect(await next.end()).toBe(0);
});
