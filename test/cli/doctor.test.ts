/** `doctor` against a fake of Tradier over HTTP, and against the simulated service of the specification. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { doctor as command } from "../../src/cli/doctor.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { expiryFinding, type Probe } from "../../src/services/checkup.ts";
import {
  type FakeTradier,
  type FakeTradierOptions,
  startFakeTradier,
  TOKENS,
} from "../fakes/tradier/fake.ts";
import { createTestClock } from "../support/clock.ts";
import { accountAt, startSimulatedService } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

const clock = createTestClock("2026-11-20T20:00:03.000Z");
const started: FakeTradier[] = [];

afterAll(async () => {
  for (const { close } of started) await close();
});

async function doctor(
  options: Partial<FakeTradierOptions>,
  { token = TOKENS.token, flags = [] }: { token?: string; flags?: string[] } = {},
) {
  const market = createSimulatedMarket({ seed: 1 });
  const fake = await startFakeTradier({ clock, market, trading: () => "usual", ...options });
  started.push(fake);
  const env = {
    QUOTES_SERVICE: "tradier",
    QUOTES_BASE_URL: fake.baseUrl,
    QUOTES_ACCESS_TOKEN: token,
    QUOTEKEEPER_DATA_DIR: tempDir(),
    QUOTEKEEPER_JOBS_DIR: tempDir(),
  };
  const outcome = await run(["doctor", ...flags], env, clock);
  return { ...outcome, calls: fake.calls };
}

const linesWith = (verdict: string, text: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(verdict));

test("where everything holds doctor says OK to each assumption, and its report has no symbol, no price and no token", async () => {
  const path = join(tempDir(), "report.txt");

  const { exitCode, stdout, calls } = await doctor(
    { limit: { says: 120, holds: 120, nodes: 1 } },
    { flags: ["--report", path] },
  );

  expect(exitCode).toBe(0);
  expect([...linesWith("NOT SO", stdout), ...linesWith("UNKNOWN", stdout)]).toEqual([]);
  expect(linesWith("OK", stdout)).toHaveLength(20);
  expect(stdout).toMatch(/\n20 hold, 0 not so, 0 not seen\. All that is needed holds\.\n$/);
  expect(stdout).toContain(
    "\nTradier is experimental: it was tried against recorded answers and a fake only.\n",
  );
  expect(calls.map(({ method }) => method)).toEqual([...Array<string>(7).fill("GET"), "POST"]);
  const report = readFileSync(path, "utf8");
  expect(report).toBe(stdout);
  expect(report).not.toMatch(/SPY|ZZQ|BRK|NDX|\d\.\d\d|127\.0\.0\.1/);
  expect(report).not.toContain(TOKENS.token);
});

test("counts of several nodes are not the account's, and that is no reason to end with exit code 1", async () => {
  const { exitCode, stdout } = await doctor({ limit: { says: 200, holds: 120, nodes: 3 } });

  expect(exitCode).toBe(0);
  expect(linesWith("NOT SO", stdout)).toEqual([
    expect.stringMatching(/x-ratelimit-allowed is 120, as the documentation says: it says 200\.$/),
    expect.stringMatching(/x-ratelimit-used rises by one with each call: at 2 of 7 steps\.$/),
  ]);
});

test("a refused token is told after a single call, and nothing else is taken for known", async () => {
  const { exitCode, stdout, stderr, calls } = await doctor({}, { token: TOKENS.otherEnvironment });

  expect({ exitCode, calls: calls.length }).toEqual({ exitCode: 1, calls: 1 });
  expect(linesWith("NOT SO", stdout)[0]).toContain("The service accepts the credentials: HTTP 401");
  expect(stdout).toMatch(/^UNKNOWN +A long list goes by POST/m);
  expect(stdout + stderr).not.toContain(TOKENS.otherEnvironment);
});

test("quotes that are 15 minutes late at an address that is taken for real time end with exit code 1", async () => {
  const { exitCode, stdout } = await doctor({ sandbox: true });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^NOT SO +Quotes are of real time, as they are stored: the youngest was 9\d\d s old\.$/m,
  );
});

test("a page in place of an answer is no JSON, and ends the calls", async () => {
  const { exitCode, stdout, calls } = await doctor({ faults: [{ fault: "htmlPage", numbers: [2] }] });

  expect({ exitCode, calls: calls.length }).toEqual({ exitCode: 1, calls: 2 });
  expect(stdout).toMatch(/^NOT SO +Answers come as JSON.*1 of 2 answers.*HTTP 200 with something else\.$/m);
});

test("a connection that ends without an answer ends the calls, and what was seen before is told", async () => {
  const { exitCode, stdout, stderr } = await doctor(
    { faults: [{ fault: "closedConnection", numbers: [3] }] },
    { flags: ["--json"] },
  );

  const report = command.json.parse(JSON.parse(stdout));
  expect(exitCode).toBe(1);
  const ended = expect.stringMatching(/^SERVICE_/) as unknown;
  expect(report).toMatchObject({ service: "tradier", address: null, calls: 2, ended, holds: false });
  expect(stderr).toContain(report.ended);
});

test("a report is never written over a file that is there", async () => {
  const path = join(tempDir(), "report.txt");
  writeFileSync(path, "mine\n");

  const { exitCode, stderr } = await doctor({}, { flags: ["--report", path] });

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/REPORT_WRITE_FAILED: .*report\.txt cannot be written \(EEXIST\)/);
  expect(readFileSync(path, "utf8")).toBe("mine\n");
});

test("of the specification's service doctor tells the few assumptions that two calls show", async () => {
  const { baseUrl } = await startSimulatedService(clock);
  const env = { ...accountAt(baseUrl), QUOTEKEEPER_DATA_DIR: tempDir(), QUOTEKEEPER_JOBS_DIR: tempDir() };

  const { exitCode, stdout } = await run(["doctor"], env, clock);

  expect(stdout).toMatch(/^2 answers, HTTP 200, 200$/m);
  expect(stdout).not.toContain("experimental");
  expect(stdout).toMatch(/^OK +The service accepts the credentials/m);
  expect(stdout).toMatch(/^OK +Answers come as XML/m);
  expect(stdout).toMatch(/^OK +The machine's clock is within 5 s/m);
  expect(exitCode).toBe(0);
});

test.each([
  [1, "1795200000", "not_so", "it is in seconds"],
  [1, "1795200000000", "ok", "up to 60 s after Date"],
  [1_000, "1795200000", "ok", "up to 60 s after Date"],
  [1_000, "1795200000000", "not_so", "it is in milliseconds"],
  [1, "60", "not_so", "neither in milliseconds nor in seconds is it near Date"],
  [1, "soon", "unknown", "no answer has it beside a Date"],
] as const)("a window's end in units of %d ms that reads %s is %s: %s", (unit, value, verdict, why) => {
  const date = new Date(1_795_199_940_000).toUTCString();
  const probed = [{ headers: { expiry: value, date } }] as unknown as Probe[];

  expect(expiryFinding("expiry", unit, probed)).toMatchObject({ verdict, why });
});
