/** `init` for a newcomer at Alpaca, against fakes of both hosts: which host takes the key is tried, and the jobs fit the limit. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import { NAMES } from "../../src/cli/init/questions.ts";
import { runProgram } from "../../src/cli/program.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { systemClock } from "../../src/ground/clock.ts";
import { SERVICES } from "../../src/services/registry.ts";
import { type FakeAlpaca, type FakeAlpacaOptions, KEYS, startFakeAlpaca } from "../fakes/alpaca/fake.ts";
import { createTestClock } from "../support/clock.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { market } from "../support/livingFakes.ts";
import { tempDir } from "../support/tempDir.ts";
import { hasTerminals, inTerminal } from "../support/terminal.ts";
import { capturedEdges } from "./edges.ts";

const clock = createTestClock("2026-11-24T15:42:07.000Z");
const opened: FakeAlpaca[] = [];

afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  for (const { close } of opened) await close();
});

async function openFake(options: Partial<FakeAlpacaOptions> = {}): Promise<FakeAlpaca> {
  const fake = await startFakeAlpaca({ clock, market, mostStrikes: 10, ...options });
  opened.push(fake);
  return fake;
}

async function addressOfNobody(): Promise<string> {
  const fake = await openFake();
  await fake.close();
  return fake.tradingUrl;
}

/** Puts fakes in the place of the addresses that the service has for accounts on paper and for live ones. */
function standIn(paper: string, live: string): void {
  const option = SERVICES.flatMap(({ options = [] }) => options).find(({ name }) => name === "tradingUrl");
  if (!option || !("address" in option) || !option.others) throw new TypeError("no such option");
  jest.replaceProperty(option, "address", paper);
  jest.replaceProperty(option, "others", { ...option.others, addresses: [live] });
}

const IN_ENVIRONMENT = {
  QUOTES_ALPACA_KEY_ID: KEYS.keyId as string,
  QUOTES_ALPACA_SECRET_KEY: KEYS.secretKey as string,
};

/** In an empty directory. */
async function init(env: Record<string, string>, ...argv: string[]) {
  const directory = tempDir();
  const { edges, stdout, stderr } = capturedEdges({ env, directory, clock });
  process.chdir(directory);
  const exitCode = await runProgram(["init", "--yes", ...argv], edges);
  const path = join(directory, ".env");
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : null;
  const again = async (...command: string[]) => {
    const of = capturedEdges({ env, directory, clock });
    return { exitCode: await runProgram(command, of.edges), stdout: of.stdout(), stderr: of.stderr() };
  };
  return { exitCode, stdout: stdout(), stderr: stderr(), lines, directory, again };
}

const atFake = ({ dataUrl }: FakeAlpaca): string[] => ["--account", `alpaca ${dataUrl}`];

const settingsIn = (lines: string[] | null): string[] =>
  (lines ?? []).filter((line) => line.startsWith("QUOTES_"));

test("the simulated market is offered first and Alpaca second, which is free", async () => {
  const { stderr } = await init({}, "--account", "somebody");
  const help = capturedEdges();
  await runProgram(["init", "--help"], help.edges);

  expect(stderr).toContain("expected simulated, alpaca, tradier, ");
  expect(help.stdout()).toMatch(/--account <service> +simulated, alpaca, tradier, /);
});

test("without keys and a terminal, init names the variables and the three steps to a key", async () => {
  const { exitCode, stderr, lines } = await init({}, "--account", "alpaca");

  expect({ exitCode, lines }).toEqual({ exitCode: 2, lines: null });
  expect(stderr).toContain("set QUOTES_ALPACA_KEY_ID, QUOTES_ALPACA_SECRET_KEY in the environment");
  expect(stderr).toMatch(
    / 1\. Open a free account at https:\/\/alpaca\.markets: .* 2\. .* 3\. .*ends its keys\./,
  );
});

test("a paper account's key is taken by the default host, which .env does not name, and the jobs fit the limit of 200", async () => {
  const [paper, live] = [await openFake(), await openFake()];
  standIn(paper.tradingUrl, live.tradingUrl);

  const { exitCode, stdout, stderr, lines, again } = await init(
    IN_ENVIRONMENT,
    ...[...atFake(paper), "--symbols", "AAPL,SPY", "--chains", "AAPL:listed"],
  );

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(settingsIn(lines)).toEqual(["QUOTES_SERVICE=alpaca", `QUOTES_BASE_URL=${paper.dataUrl}`]);
  expect(stdout).toContain(`Tried      ${paper.tradingUrl} takes the credentials.\n`);
  expect(paper.calls.map(({ host, status }) => [host, status])).toEqual([["trading", 200]]);
  expect(live.calls).toEqual([]);
  // A list of stocks, and the list of expirations.
  expect(stdout).toContain("Plan       at most 2 calls a minute; the limit is 200 in 60 s\n");
  expect(stdout).toContain("           and a call for each expiration that Alpaca lists of AAPL\n");
  expect(stdout).toContain(
    "Setting    QUOTES_ALPACA_STOCK_FEED=delayed_sip. Where quotes of stocks come from: ",
  );
  expect(stdout).toContain(
    "Setting    QUOTES_ALPACA_OPTION_FEED=indicative. Where quotes of options come from: ",
  );
  expect(await again("jobs", "check")).toMatchObject({ exitCode: 0, stderr: "" });
});

test("a live account's key is refused by the paper host and taken by the live one, which .env names", async () => {
  const [paper, live] = [await openFake({ isLive: true }), await openFake()];
  standIn(paper.tradingUrl, live.tradingUrl);

  const { exitCode, stdout, lines, directory } = await init(IN_ENVIRONMENT, ...atFake(live));

  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${live.tradingUrl} takes the credentials`);
  expect(settingsIn(lines)).toContain(`QUOTES_ALPACA_TRADING_URL=${live.tradingUrl}`);
  expect(loadConfig(IN_ENVIRONMENT, directory).feed).toMatchObject({
    options: { tradingUrl: live.tradingUrl },
  });
});

test("a key that both hosts refuse writes nothing: the message names the variables and what ends a key", async () => {
  const [paper, live] = [await openFake({ isLive: true }), await openFake({ isLive: true })];
  standIn(paper.tradingUrl, live.tradingUrl);

  const { exitCode, stderr, lines } = await init(IN_ENVIRONMENT, ...atFake(paper));

  expect({ exitCode, lines }).toEqual({ exitCode: 2, lines: null });
  expect(stderr).toContain(
    `--account: QUOTES_ALPACA_KEY_ID and QUOTES_ALPACA_SECRET_KEY are refused: ${paper.tradingUrl} answers HTTP 401, "request is not authorized"; ${live.tradingUrl} answers HTTP 401, "request is not authorized". Resetting the paper account ends its keys.`,
  );
  expect(stderr).not.toContain(KEYS.secretKey);
});

test("without a network init says that the key could not be tried, and goes on with the default host", async () => {
  const nobody = await addressOfNobody();
  standIn(nobody, await addressOfNobody());

  const { exitCode, stdout, lines } = await init(IN_ENVIRONMENT, "--account", "alpaca");

  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    `Not tried  whether ${nobody} takes the credentials (${nobody}: ECONNREFUSED). It is used until QUOTES_ALPACA_TRADING_URL says another.\n`,
  );
  expect(settingsIn(lines)).toEqual(["QUOTES_SERVICE=alpaca"]);
});

test.each([
  ["cannot be reached", null],
  ["answers with a fault of its own", "serverError"],
  ["has no room in its limit", "tooMany"],
] as const)(
  "where the paper host refuses a key and the live one %s, the live one is kept",
  async (_, fault) => {
    const [paper, live] = [await openFake({ isLive: true }), await openFake()];
    if (fault !== null) live.failNext(fault);
    const address = fault === null ? await addressOfNobody() : live.tradingUrl;
    standIn(paper.tradingUrl, address);

    const { exitCode, lines } = await init(IN_ENVIRONMENT, ...atFake(paper));

    expect(exitCode).toBe(0);
    expect(settingsIn(lines)).toContain(`QUOTES_ALPACA_TRADING_URL=${address}`);
  },
);

test("a host that the environment names is the only one that is tried", async () => {
  const [named, other] = [await openFake(), await openFake()];
  standIn(other.tradingUrl, other.tradingUrl);
  const env = { ...IN_ENVIRONMENT, QUOTES_ALPACA_TRADING_URL: named.tradingUrl };

  const { exitCode, lines } = await init(env, ...atFake(named));
  const refused = await init({ ...env, QUOTES_ALPACA_SECRET_KEY: "mistyped" }, ...atFake(named));

  expect(exitCode).toBe(0);
  expect(lines).toContain("# QUOTES_ALPACA_TRADING_URL comes from the environment.");
  expect(refused).toMatchObject({ exitCode: 2, lines: null });
  expect(named.calls).toHaveLength(2);
  expect(other.calls).toEqual([]);
});

test("an account that the environment names is tried as well", async () => {
  const [paper, live] = [await openFake({ isLive: true }), await openFake()];
  standIn(paper.tradingUrl, live.tradingUrl);
  const env = { ...IN_ENVIRONMENT, QUOTES_SERVICE: "alpaca" };

  const { exitCode, lines } = await init(env);
  const refused = await init({ ...env, QUOTES_ALPACA_KEY_ID: "mistyped" });

  expect(exitCode).toBe(0);
  expect(settingsIn(lines)).toEqual([`QUOTES_ALPACA_TRADING_URL=${live.tradingUrl}`]);
  expect(refused).toMatchObject({ exitCode: 2, lines: null });
  expect(refused.stderr).toContain(
    "QUOTES_SERVICE: QUOTES_ALPACA_KEY_ID and QUOTES_ALPACA_SECRET_KEY are refused",
  );
});

test("a chain of contracts around the price is counted once, a hundred contracts a call, and its list of open interest adds none", async () => {
  const paper = await openFake();
  standIn(paper.tradingUrl, paper.tradingUrl);

  const { stdout } = await init(IN_ENVIRONMENT, ...atFake(paper), "--chains", "AAPL:2:40:5");

  // 2 expirations, calls and puts: strikes 60 to 140 at 100, and 300 to 700 at 500.
  expect(stdout.match(/ the chain of AAPL, .*/g)).toEqual([
    " the chain of AAPL, as soon as its price is stored: 1 call at a price of 100, 4 at 500",
  ]);
  expect(stdout).not.toContain("and a call for each expiration");
});

const inATerminal = hasTerminals ? describe : describe.skip;

inATerminal("in a terminal", () => {
  const bin = compileProgram(tempDir());

  test("choosing Alpaca shows the three steps to a key; a mistyped one is refused, and the account is asked for again", async () => {
    const cwd = tempDir();
    const fake = await openFake({ clock: systemClock });
    const env = {
      ...{ PATH: process.env["PATH"] ?? "", HOME: tempDir(), TERM: "dumb" },
      QUOTES_ALPACA_TRADING_URL: fake.tradingUrl,
    };
    const terminal = inTerminal([process.execPath, bin, "init"], { cwd, env });
    const type = async (prompt: string, keys: string): Promise<string> => {
      const said = await terminal.said(new RegExp(`${prompt}( \\[[^\\]]*\\])?: `));
      terminal.type(`${keys}\r`);
      return said;
    };
    const account = `alpaca ${fake.dataUrl}`;

    for (const [place, keys] of ["AAPL,SPY", "AAPL:listed", "always"].entries())
      await type(NAMES[place] ?? "", keys);
    const offered = await type("account", account);
    const steps = await type("QUOTES_ALPACA_KEY_ID", KEYS.keyId);
    await type("QUOTES_ALPACA_SECRET_KEY", "mistyped");
    const refused = await type("account", account);
    await type("QUOTES_ALPACA_KEY_ID", KEYS.keyId);
    await type("QUOTES_ALPACA_SECRET_KEY", KEYS.secretKey);
    await type("database", "");

    const { exitCode, screen } = await terminal.ended;
    expect({ exitCode, screen }).toMatchObject({ exitCode: 0 });
    expect(offered).toMatch(
      /simulated: quotes that are made up\.\s+alpaca:\s+Alpaca,\s+free,\s+experimental\./,
    );
    expect(steps).toMatch(
      /1\. Open a free account at[^]*2\. Generate[^]*3\. Paste[^]*Resetting the paper account/,
    );
    expect(refused).toMatch(/are\s+refused:/);
    expect(screen).not.toContain(KEYS.secretKey);
    expect(readFileSync(join(cwd, ".env"), "utf8")).toContain(
      `\nQUOTES_ALPACA_KEY_ID=${KEYS.keyId}\nQUOTES_ALPACA_SECRET_KEY=${KEYS.secretKey}\n`,
    );
  });
});
