/** `doctor` against a fake of Alpaca over HTTP. What its sentences say of other answers: test/services/alpacaCheckup.test.ts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { MOST_CALLS } from "../../src/services/checkup.ts";
import { type FakeAlpacaOptions, KEYS } from "../fakes/alpaca/fake.ts";
import { createTestClock } from "../support/clock.ts";
import { openFakeAlpaca } from "../support/livingFakes.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

// Whole commands run, which takes as long as the machine is slow.
jest.setTimeout(300_000);

async function doctor(
  options: Partial<FakeAlpacaOptions> = {},
  { env = {}, flags = [] }: { env?: Record<string, string>; flags?: string[] } = {},
) {
  const clock = createTestClock("2026-11-20T20:00:03.000Z");
  const { fake, settings } = await openFakeAlpaca({
    ...{ clock, trading: () => "usual", mostStrikes: 60 },
    ...options,
  });
  const directories = { QUOTEKEEPER_DATA_DIR: tempDir(), QUOTEKEEPER_JOBS_DIR: tempDir() };
  const outcome = await run(["doctor", ...flags], { ...settings, ...directories, ...env }, clock);
  return { ...outcome, calls: fake.calls };
}

const linesWith = (verdict: string, text: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(verdict));

test("where all is as documented doctor says OK to each sentence after twelve calls, and its report has no symbol, no price and no key", async () => {
  const path = join(tempDir(), "report.txt");

  const { exitCode, stdout, calls } = await doctor({}, { flags: ["--report", path] });

  expect(exitCode).toBe(0);
  expect([...linesWith("NOT SO", stdout), ...linesWith("UNKNOWN", stdout)]).toEqual([]);
  expect(stdout).toContain("\n12 answers, HTTP 200, 200, 200, 400, 200, 200, 200, 200, 200, 200, 200, 200\n");
  expect(calls).toHaveLength(MOST_CALLS);
  expect(new Set(calls.map(({ host, query }) => [host, query["feed"]].join(" ")))).toEqual(
    new Set(["data delayed_sip", "data indicative", "trading "]),
  );
  const report = readFileSync(path, "utf8");
  expect(report).toBe(stdout);
  expect(report).not.toMatch(/SPY|SPX|BRK|ZZQ|\d\.\d\d|127\.0\.0\.1/);
  expect(report).not.toContain(KEYS.keyId);
  expect(report).not.toContain(KEYS.secretKey);
});

test("a feed that the plan does not have costs one call, and is no refused key", async () => {
  const { exitCode, stdout, calls } = await doctor({}, { env: { QUOTES_ALPACA_STOCK_FEED: "sip" } });

  expect({ exitCode, calls: calls.length }).toEqual({ exitCode: 1, calls: 1 });
  expect(stdout).toMatch(
    /^OK +The service accepts the credentials: HTTP 403, which refuses the feed alone\.$/m,
  );
  expect(stdout).toMatch(/^NOT SO +The account's plan has the feed of stocks: sip, HTTP 403\.$/m);
});

test("a wrong secret is told after one call", async () => {
  const { exitCode, stdout, stderr, calls } = await doctor(
    {},
    { env: { QUOTES_ALPACA_SECRET_KEY: "another-secret" } },
  );

  expect({ exitCode, calls: calls.length }).toEqual({ exitCode: 1, calls: 1 });
  expect(stdout).toMatch(/^NOT SO +The service accepts the credentials: HTTP 403/m);
  expect(stdout + stderr).not.toContain("another-secret");
});

test("a paper account's key at the host of live accounts is told as that", async () => {
  const { exitCode, stdout } = await doctor({ isLive: true });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^OK +The service accepts the credentials/m);
  expect(linesWith("NOT SO", stdout)[0]).toMatch(/The trading host of the settings takes the key: HTTP 401/);
});
