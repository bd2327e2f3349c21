import { expect, test } from "@jest/globals";
import { runProgram } from "../../src/cli/program.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { type CapturedEdges, capturedEdges, run } from "./edges.ts";

const clock = createTestClock();

/** A running `serve`, ended by `end`. */
async function serving(...flags: string[]) {
  const env = { QUOTEKEEPER_DATA_DIR: tempDir() };
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

test("the lines it prints are all that a second quotekeeper needs; its quotes are kept as simulated", async () => {
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

test("with --key it knows that key alone, and never prints it", async () => {
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

test("a port that is taken is named, exit code 1", async () => {
  const service = await serving();
  const { port } = new URL(service.baseUrl);

  const { exitCode, stdout, stderr } = await run(["serve", "--source", "simulated", "--port", port], {
    QUOTEKEEPER_DATA_DIR: tempDir(),
  });
  await service.end();

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(new RegExp(`^PORT_IN_USE: 127\\.0\\.0\\.1:${port} is taken.*--port`));
});
