/** `init` as a newcomer meets it: the program itself, in a terminal where it asks; its files are read by the program. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { runProgram } from "../../src/cli/program.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { readJobs } from "../../src/schedule/readJobs.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, type Outcome } from "./edges.ts";
import { hasTerminals, type InTerminal, inTerminal } from "../support/terminal.ts";
import { NAMES } from "../../src/cli/init/questions.ts";

const bin = compileProgram(tempDir());
const { url } = await freshDatabase({ migrated: false });

type Place = { cwd: string; env: Record<string, string> };

/** Source that a process runs before its program. */
const moduleOf = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;

/** Whoever waits for time to pass waits for ever: a limit of time ends nothing. */
const WITHOUT_PATIENCE = `
  import net from "node:net";
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (callback, ms, ...more) => setTimeout(callback, ms > 5_000 ? 2 ** 31 - 1 : ms, ...more);
  net.Socket.prototype.setTimeout = function () { return this; };`;

/** A directory, and nothing in it. */
function place(env: Record<string, string> = {}): Place {
  return { cwd: tempDir(), env: { PATH: process.env["PATH"] ?? "", HOME: tempDir(), TERM: "dumb", ...env } };
}

/** In this process: what the program does in a terminal is tried below, by itself. */
async function run({ cwd, env }: Place, ...argv: string[]): Promise<Outcome> {
  const { edges, stdout, stderr } = capturedEdges({ env, directory: cwd });
  // Where a relative path of the environment begins.
  process.chdir(cwd);
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(dir, name)).isFile())
    .sort();

const text = (dir: string, ...path: string[]): string => readFileSync(join(dir, ...path), "utf8");

test("init --yes writes what Enter would answer, which jobs check and plan accept, and says what the jobs cost", async () => {
  const at = place();

  const { exitCode, stdout, stderr } = await run(at, "init", "--yes");

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(filesIn(at.cwd)).toEqual([".env", "jobs/symbols.yaml"]);
  expect(statSync(join(at.cwd, ".env")).mode & 0o777).toBe(0o600);
  expect(stdout).toContain(`Wrote      ${join(at.cwd, "jobs", "symbols.yaml")}\n`);
  expect(stdout).toContain("Plan       at most 1 call a minute; the limit is 60 in 60 s\n");
  expect(stdout).toContain("Next       npx --no-install quotekeeper start\n");
  expect(await run(at, "jobs", "check")).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await run(at, "plan")).toMatchObject({ exitCode: 0, stderr: "" });
  expect(loadConfig({}, at.cwd)).toMatchObject({ databaseUrl: null, feed: { kind: "simulated" } });
});

test("flags answer the questions of init: symbols that YAML would misread, chains, hours", async () => {
  const at = place();
  const symbols = ["NaN", "true", "1E5", "007", "BRK.B", "#A", "-", "!C", "@D", "&F", "null", "~", "*E"];

  const { exitCode, stdout } = await run(
    at,
    ...["init", "--symbols", symbols.join(","), "--chains", "AAPL:2:4:5,TSLA:1:2.5:2.5"],
    ...["--hours", "extended", "--account", "simulated", "--database", "embedded"],
  );

  expect(exitCode).toBe(0);
  const { jobs, problems } = await readJobs(join(at.cwd, "jobs"));
  expect(problems).toEqual([]);
  expect(jobs).toMatchObject([
    {
      name: "chains",
      session: "any",
      chains: [
        {
          underlying: "AAPL",
          expirations: { next: 2, kind: "monthly" },
          strikes: { around: "last", percent: "4", step: "5" },
          types: ["CALL", "PUT"],
        },
        { underlying: "TSLA", expirations: { next: 1 }, strikes: { percent: "2.5", step: "2.5" } },
      ],
    },
    { name: "symbols", session: "any", symbols: symbols.map((symbol) => symbol.toUpperCase()) },
  ]);
  // 2 expirations, calls and puts: strikes 100 at 100, and 480, 485, ... 520 at 500.
  expect(stdout).toContain(
    "the chain of AAPL, as soon as its price is stored: 4 calls at a price of 100, 36 at 500",
  );
  expect(stdout).toContain(
    "the chain of TSLA, as soon as its price is stored: 6 calls at a price of 100, 22 at 500",
  );
});

test("init without a terminal names the missing answers and what helps", async () => {
  const at = place();

  const { exitCode, stderr } = await run(at, "init", "--symbols", "AAPL", "--hours", "always");

  expect(exitCode).toBe(2);
  expect(stderr).toBe(
    "USAGE: init has no terminal to ask: give --chains, --account, --database, or --yes for the defaults. See `quotekeeper --help`.\n",
  );
  expect(filesIn(at.cwd)).toEqual([]);
});

test.each([
  ["--symbols", "NFLX AMD", '"NFLX AMD" is not a symbol: put commas between symbols.'],
  ["--symbols", ",", "It names no symbol"],
  ["--chains", "AAPL", '"AAPL" is not a chain: expected UNDERLYING:EXPIRATIONS:PERCENT:STEP'],
  ["--chains", "AAPL:2:4:5:6", "is not a chain: expected UNDERLYING"],
  ["--chains", "AAPL:61:4:5", "EXPIRATIONS: expected at most 60"],
  ["--chains", "AAPL:two:4:5", "EXPIRATIONS: expected a whole number"],
  ["--chains", "AAPL:2:101:5", "PERCENT: expected at most 100"],
  ["--chains", "AAPL:2:4:0", "STEP: expected a decimal above 0"],
  ["--chains", "AAPL:2:100:0.01", "the chain of AAPL stands for more than 2000 contracts"],
  ["--chains", "AAPL:0:4:5", '"AAPL:0:4:5" is not a chain: EXPIRATIONS: expected 1 or more'],
  [
    "--account",
    "broker",
    '"broker" is no address: expected simulated, alpaca, tradier, tradier-sandbox, etrade, etrade-sandbox, or an address with ://',
  ],
  ["--account", "Tradier", '"Tradier" is no address: did you mean tradier?'],
  ["--account", "tradier 127.0.0.1:8089", "is no address: expected simulated, alpaca, tradier, "],
  [
    "--account",
    "broker https://me:hunter22@broker.example",
    "expected simulated, alpaca, tradier, tradier-sandbox, etrade, etrade-sandbox, alpaca ADDRESS, tradier ADDRESS, etrade ADDRESS or an address",
  ],
  ["--account", "tradier https://me:hunter22@broker.example", "without user name and password"],
  [
    "--account",
    "tradier",
    "there is no terminal to ask for secrets: set QUOTES_ACCESS_TOKEN in the environment",
  ],
  ["--account", "simulatd", '"simulatd" is no address: did you mean simulated?'],
  ["--account", "ftp://broker.example", "expected an http or https address"],
  ["--database", "Embeded", '"Embeded" is no address: did you mean embedded?'],
  ["--account", "http://broker.example", "expected https, or QUOTES_ALLOW_HTTP=true"],
  [
    "--account",
    "https://broker.example",
    "there is no terminal to ask for secrets: set QUOTES_CONSUMER_KEY, ",
  ],
  ["--database", "mysql://127.0.0.1/x", "DATABASE_URL: expected a postgresql:// address"],
  ["--database", "postgresql://me:hunter22@127.0.0.1/x", "It holds a password: leave that out."],
  ["--database", "postgresql://me@127.0.0.1/x?password=hunter22", "It holds a password: leave that out."],
  ["--hours", "later", "Allowed choices are regular, extended, always"],
])("init %s %s is refused, with what is wrong", async (flag, answer, complaint) => {
  const at = place();

  const { exitCode, stdout, stderr } = await run(at, "init", "--yes", flag, answer);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain(flag);
  expect(stderr).toContain(complaint);
  expect(stderr).not.toContain("hunter22");
  expect(filesIn(at.cwd)).toEqual([]);
});

test("init names several wrong flags together", async () => {
  const wrong = ["--symbols", ",", "--chains", "AAPL", "--account", "broker"];

  const { stderr } = await run(place(), "init", "--yes", ...wrong);

  expect(stderr.match(/^ {2}--\w+: /gm)).toEqual(["  --symbols: ", "  --chains: ", "  --account: "]);
});

test("init leaves credentials in the environment, and names their files in .env", async () => {
  const at = place({
    QUOTES_CONSUMER_KEY: "key-1",
    QUOTES_CONSUMER_SECRET: "secret-1",
    QUOTES_ACCESS_TOKEN: "token-1",
  });
  writeFileSync(join(at.cwd, "token-secret"), "token-secret-1\n", { mode: 0o600 });
  at.env["QUOTES_ACCESS_TOKEN_SECRET_FILE"] = "token-secret";

  const { exitCode, stdout, stderr } = await run(at, "init", "--yes", "--account", "https://broker.example");

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toContain(
    "npx --no-install quotekeeper poll --symbols AAPL, which tries the account with one call",
  );
  expect(text(at.cwd, ".env")).not.toMatch(/(key|secret|token)-1/);
  expect(text(at.cwd, ".env")).toContain("\nQUOTES_ACCESS_TOKEN_SECRET_FILE=token-secret\n");
  expect(loadConfig(at.env, at.cwd).feed).toMatchObject({
    baseUrl: "https://broker.example",
    credentials: { consumerKey: "key-1", accessTokenSecret: "token-secret-1" },
  });
});

test.each([
  ["tradier", "https://api.tradier.com", ["QUOTES_SERVICE=tradier"]],
  [
    "tradier-sandbox",
    "https://sandbox.tradier.com",
    ["QUOTES_SERVICE=tradier", "QUOTES_BASE_URL=https://sandbox.tradier.com"],
  ],
  [
    "tradier http://127.0.0.1:8089",
    "http://127.0.0.1:8089",
    ["QUOTES_SERVICE=tradier", "QUOTES_BASE_URL=http://127.0.0.1:8089"],
  ],
  ["https://api.tradier.com/", "https://api.tradier.com", ["QUOTES_SERVICE=tradier"]],
])(
  "the account %s is the service tradier at %s, which needs a token alone and takes contracts in lists",
  async (answer, baseUrl, settings) => {
    const at = place({ QUOTES_ACCESS_TOKEN: "token-1" });

    const { exitCode, stdout, stderr } = await run(
      at,
      ...["init", "--yes", "--account", answer, "--chains", "AAPL:2:4:5"],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const lines = text(at.cwd, ".env").split("\n");
    expect(lines.filter((line) => line.startsWith("QUOTES_"))).toEqual(settings);
    expect(lines).toContain("# QUOTES_ACCESS_TOKEN comes from the environment.");
    expect(lines.join("\n")).not.toMatch(/token-1|CONSUMER|simulated/);
    const { service, feed } = loadConfig(at.env, at.cwd);
    expect({ service: service.name, feed }).toMatchObject({
      service: "tradier",
      feed: { baseUrl, credentials: { accessToken: "token-1" } },
    });
    expect(text(at.cwd, "jobs", "chains.yaml")).toContain("Up to 100 contracts are one call: ");
    expect(stdout).toContain(
      "Note       Tradier is experimental: it was tried against recorded answers and a fake only",
    );
    expect(stdout).toContain("the chain of AAPL, as soon as its price is stored: 1 call at a price of 100");
  },
);

test.each([
  [{ QUOTES_SERVICE: "tradier", QUOTES_ACCESS_TOKEN: "token-1" }, "QUOTES_SERVICE", "--account", "simulated"],
  [{ DATABASE_URL: "postgresql://me@127.0.0.1:1/x" }, "DATABASE_URL", "--database", "embedded"],
])(
  "init asks no question that the environment answers, and refuses a flag against it: %j (%s)",
  async (env, name, flag, answer) => {
    const at = place(env);

    expect(await run(at, "init", "--yes")).toMatchObject({ exitCode: 0 });
    expect(text(at.cwd, ".env")).toContain(`\n# ${name} comes from the environment.\n`);

    const against = await run(place(env), "init", "--yes", flag, answer);
    expect(against.exitCode).toBe(2);
    expect(against.stderr).toContain(
      `${flag}: ${name} is set in the environment, which goes before .env: unset it`,
    );
  },
);

test("init names a service of the environment that stands against the answer", async () => {
  const { stderr } = await run(
    place({ QUOTES_SERVICE: "reference" }),
    "init",
    "--yes",
    "--account",
    "tradier",
  );

  expect(stderr).toContain("--account: QUOTES_SERVICE=reference is set in the environment");
});

test("init writes job files where the environment says, and counts the ones that are there", async () => {
  const at = place({ QUOTEKEEPER_JOBS_DIR: "mine/jobs" });
  mkdirSync(join(at.cwd, "mine", "jobs"), { recursive: true });
  const other = 'name: other\nschedule: "* * * * *"\noptions:\n';
  const contracts = [1, 2, 3].map(
    (strike) => `  - { underlying: AAPL, expiration: 2099-01-16, type: CALL, strike: ${strike} }\n`,
  );
  writeFileSync(join(at.cwd, "mine", "jobs", "other.yaml"), other + contracts.join(""));

  const { stdout } = await run(at, "init", "--yes");

  expect(filesIn(at.cwd)).toEqual([".env", "mine/jobs/other.yaml", "mine/jobs/symbols.yaml"]);
  expect(stdout).toContain("Beside     other.yaml in ");
  expect(stdout).toContain("at most 4 calls a minute");
});

test("init says that jobs are over budget, exit code 1", async () => {
  const at = place({ QUOTES_LIMIT: "1" });
  const symbols = Array.from({ length: 101 }, (_, place) => `S${place}`).join(",");

  const { exitCode, stdout } = await run(at, "init", "--yes", "--symbols", symbols);

  expect(exitCode).toBe(1);
  expect(stdout).toContain("at most 2 calls a minute; the limit is 1 in 60 s: OVER BUDGET");
});

test("init names a wrong job file that was there with its line, exit code 2", async () => {
  const at = place();
  mkdirSync(join(at.cwd, "jobs"));
  writeFileSync(join(at.cwd, "jobs", "wrong.yaml"), 'name: wrong\nschedule: "* * * * *"\n\nsymbls: [A]\n');

  const { exitCode, stderr } = await run(at, "init", "--yes");

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/wrong\.yaml:4: symbls is not an option here/);
});

test.each([
  [[".env"], "is there already, and init never overwrites it"],
  [["jobs/symbols.yaml"], "is there already, and init never overwrites it"],
  [["jobs/chains.yaml", ".env"], "are there already, and init never overwrites them"],
])(
  "init leaves a file that is there, %j, as it is, and names it with what to do",
  async (names, complaint) => {
    const at = place();
    mkdirSync(join(at.cwd, "jobs"));
    for (const name of names) writeFileSync(join(at.cwd, name), "# mine\n");

    const { exitCode, stderr } = await run(at, "init", "--yes");

    expect(exitCode).toBe(2);
    expect(stderr).toContain(complaint);
    expect(stderr).toContain("Edit what is there, or move it away and run `quotekeeper init` again.");
    for (const name of names) expect(stderr).toContain(join(at.cwd, name));
    expect(filesIn(at.cwd)).toEqual([...names].sort());
    for (const name of names) expect(text(at.cwd, name)).toBe("# mine\n");
  },
);

test.each([
  ["a .env that leads nowhere", ".env", "gone", ".env (a link that leads nowhere)"],
  [
    "a job file that leads nowhere",
    "jobs/chains.yaml",
    "gone",
    "jobs/chains.yaml (a link that leads nowhere)",
  ],
  ["a .env that leads to a file", ".env", "other", ".env (a link)"],
  ["a directory of jobs that leads nowhere", "jobs", "gone", "jobs (a link that leads nowhere)"],
  ["a directory of jobs that is a file", "jobs", null, "jobs"],
])("init names %s, and writes neither it nor where it leads", async (_what, name, target, named) => {
  const at = place();
  if (name !== "jobs") mkdirSync(join(at.cwd, "jobs"));
  writeFileSync(join(at.cwd, "other"), "# mine\n");
  if (target === null) writeFileSync(join(at.cwd, name), "# mine\n");
  else symlinkSync(join(at.cwd, target), join(at.cwd, name));
  const before = readdirSync(at.cwd, { recursive: true });

  const { exitCode, stderr } = await run(at, "init", "--yes");

  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    `INIT_EXISTS: ${join(at.cwd, named)} is there already, and init never overwrites it. Edit what is there, or move it away`,
  );
  expect(readdirSync(at.cwd, { recursive: true })).toEqual(before);
  expect(text(at.cwd, "other")).toBe("# mine\n");
});

test("init leaves nothing behind when a directory cannot be made", async () => {
  const at = place({ QUOTEKEEPER_JOBS_DIR: "file/jobs" });
  writeFileSync(join(at.cwd, "file"), "");

  const { exitCode, stderr } = await run(at, "init", "--yes");

  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^INIT_WRITE_FAILED: .*file\/jobs\/symbols\.yaml cannot be written \(ENOTDIR\)/);
  expect(filesIn(at.cwd)).toEqual(["file"]);
});

// Python's pty makes the terminal; where it is not installed there is none to ask in.
const inATerminal = hasTerminals ? describe : describe.skip;

inATerminal("in a terminal", () => {
  const init = ({ cwd, env }: Place, ...argv: string[]): InTerminal =>
    inTerminal([process.execPath, bin, "init", ...argv], { cwd, env });

  /** Types answers, each when its question stands there. */
  const inOrder = (...answers: string[]) => answers.map((keys, place) => [NAMES[place] ?? "", keys] as const);

  async function answer(terminal: InTerminal, answers: readonly (readonly [prompt: string, keys: string])[]) {
    for (const [prompt, keys] of answers) {
      await terminal.said(new RegExp(`${prompt}( \\[[^\\]]*\\])?: `));
      terminal.type(`${keys}\r`);
    }
  }

  test("five times Enter is the same as init --yes", async () => {
    const [asked, told] = [place(), place()];
    const terminal = init(asked);

    await answer(terminal, inOrder("", "", "", "", ""));

    expect((await terminal.ended).exitCode).toBe(0);
    await run(told, "init", "--yes");
    expect(filesIn(asked.cwd)).toEqual(filesIn(told.cwd));
    for (const name of filesIn(told.cwd)) expect(text(asked.cwd, name)).toBe(text(told.cwd, name));
  });

  test("init says at once what is wrong with an answer, and asks again", async () => {
    const at = place();
    const terminal = init(at);
    const closed = createServer().listen(0, "127.0.0.1");
    const port = await new Promise<number>((resolve) =>
      closed.once("listening", () => resolve((closed.address() as AddressInfo).port)),
    );
    await new Promise((resolve) => closed.close(resolve));

    for (const [name, wrong, complaint, right] of [
      ["symbols", "A B", /"A B" is not a symbol: put commas/, "ibm, GE"],
      ["chains", "IBM:0:4:5", /EXPIRATIONS: expected 1 or more/, "IBM:1:4:5"],
      ["hours", "noon", /"noon" is none of these: expected regular, extended or always/, "always"],
      ["account", "https://u:p@x.example", /address\s+without user name and password/, "simulated"],
      ["database", `postgresql://me@127.0.0.1:${port}/x`, /connect ECONNREFUSED/, "embedded"],
    ] as const) {
      await answer(terminal, [[name, wrong]]);
      await terminal.said(complaint);
      await answer(terminal, [[name, right]]);
    }

    await terminal.said(/Capitals +ibm: symbols are written in capitals, IBM/);
    expect((await terminal.ended).exitCode).toBe(0);
    expect(parse(text(at.cwd, "jobs", "symbols.yaml"))).toMatchObject({
      session: "always",
      symbols: ["IBM", "GE"],
    });
    expect(parse(text(at.cwd, "jobs", "chains.yaml"))).toMatchObject({ chains: [{ underlying: "IBM" }] });
  });

  test("init shows no credentials, reads a file of one at once, and writes .env for its owner alone", async () => {
    const at = place();
    const kept = {
      consumerKey: `k#1 '"`,
      consumerSecret: "s'2#",
      accessToken: "file-3",
      accessTokenSecret: "t$4\\n",
    };
    writeFileSync(join(at.cwd, "token"), `${kept.accessToken}\n`, { mode: 0o600 });
    const terminal = init(at, "--yes", "--account", "https://broker.example");

    await answer(terminal, [
      ["QUOTES_CONSUMER_KEY", kept.consumerKey],
      ["QUOTES_CONSUMER_SECRET", kept.consumerSecret],
      ["QUOTES_ACCESS_TOKEN", "@nowhere"],
    ]);
    await terminal.said(/QUOTES_ACCESS_TOKEN_FILE names nowhere, which cannot be read\s+\(ENOENT\)/);
    await answer(terminal, [["QUOTES_ACCESS_TOKEN", ""]]);
    await terminal.said(/QUOTES_ACCESS_TOKEN is not set/);
    await answer(terminal, [
      ["QUOTES_ACCESS_TOKEN", "@token"],
      ["QUOTES_ACCESS_TOKEN_SECRET", kept.accessTokenSecret],
    ]);

    const { exitCode, screen } = await terminal.ended;
    expect(exitCode).toBe(0);
    for (const secret of Object.values(kept)) expect(screen).not.toContain(secret);
    expect(statSync(join(at.cwd, ".env")).mode & 0o777).toBe(0o600);
    expect(text(at.cwd, ".env")).toContain("\nQUOTES_ACCESS_TOKEN_FILE=token\n");
    expect(loadConfig({}, at.cwd).feed).toEqual({
      ...{ kind: "account", baseUrl: "https://broker.example" },
      credentials: kept,
    });
  });

  test("a service chosen by its name is asked for its own credentials alone", async () => {
    const at = place();
    const terminal = init(at, "--chains", "none");

    await answer(terminal, [
      ["symbols", ""],
      ["hours", ""],
      ["account", "tradier"],
      ["QUOTES_ACCESS_TOKEN", "token-1"],
      ["database", ""],
    ]);

    const { exitCode, screen } = await terminal.ended;
    expect(exitCode).toBe(0);
    expect(screen).not.toMatch(/token-1|CONSUMER|TOKEN_SECRET/);
    expect(text(at.cwd, ".env")).toMatch(/\nQUOTES_SERVICE=tradier\nQUOTES_ACCESS_TOKEN=token-1\n/);
  });

  const withPassword = new URL(url).password === "" ? test.skip : test;

  withPassword(
    "a server that wants a password is asked again after a wrong one, and opened with the right one; neither is shown",
    async () => {
      const at = place();
      const login = new URL(url);
      login.password = "";
      const terminal = init(at);

      await answer(terminal, inOrder("", "", "", "", login.href));
      await terminal.said(/password, not shown/);
      terminal.type("hunter22\r");
      await terminal.said(/password\s+authentication\s+failed/);
      await answer(terminal, [["database", login.href]]);
      await terminal.said(/password, not shown/);
      terminal.type(`${decodeURIComponent(new URL(url).password)}\r`);

      const { exitCode, screen } = await terminal.ended;
      expect({ exitCode, screen }).toMatchObject({ exitCode: 0 });
      expect(screen).not.toContain("hunter22");
      expect(screen).not.toContain(new URL(url).password);
      expect(loadConfig({}, at.cwd).databaseUrl).toBe(url);
    },
  );

  test.each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("%s ends it, and nothing is written", async (_name, key) => {
    const at = place();
    const terminal = init(at);

    await answer(terminal, inOrder("", "", "", ""));
    await terminal.said(/database \[embedded\]: /);
    terminal.type(key);

    const { exitCode, screen } = await terminal.ended;
    expect(exitCode).toBe(130);
    expect(screen).toContain("Ended. Nothing was written.");
    expect(readdirSync(at.cwd)).toEqual([]);
  });

  test.each([
    ["SIGTERM", 130],
    ["SIGHUP", 130],
    ["SIGKILL", 137],
  ] as const)("%s while it asks leaves nothing behind", async (signal, code) => {
    const at = place();
    const terminal = init(at, "--account", "https://broker.example");

    await answer(terminal, inOrder("", "AAPL:2:4:5", ""));
    await terminal.said(/QUOTES_CONSUMER_KEY: /);
    terminal.kill(signal);

    expect((await terminal.ended).exitCode).toBe(code);
    expect(readdirSync(at.cwd)).toEqual([]);
  });

  test.each([
    ["a connection", ""],
    ["whether it offers TLS", "?sslmode=prefer"],
  ])("Ctrl-C ends it at once while a server keeps silent on %s", async (_what, parameters) => {
    const at = place({ NODE_OPTIONS: `--import=${moduleOf(WITHOUT_PATIENCE)}` });
    const silent = createServer().listen(0, "127.0.0.1");
    const asked = new Promise<Socket>((resolve) => silent.once("connection", resolve));
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as AddressInfo;
    const terminal = init(at, "--yes", "--database", `postgresql://me@127.0.0.1:${port}/x${parameters}`);

    (await asked).resume();
    terminal.type("\u0003");

    const { exitCode, screen } = await terminal.ended;
    expect(exitCode).toBe(130);
    expect(screen).toContain("Ended. Nothing was written.");
    expect(readdirSync(at.cwd)).toEqual([]);
    silent.close();
  });

  test("init keeps a file that appeared while it asked, and removes the files that it placed before", async () => {
    const at = place();
    const terminal = init(at);

    await answer(terminal, inOrder("", "AAPL:2:4:5", "", ""));
    await terminal.said(/database \[embedded\]: /);
    mkdirSync(join(at.cwd, "jobs"));
    writeFileSync(join(at.cwd, "jobs", "chains.yaml"), "# mine\n");
    terminal.type("\r");

    const { exitCode, screen } = await terminal.ended;
    expect(exitCode).toBe(2);
    expect(screen).toContain("INIT_EXISTS");
    expect(filesIn(at.cwd)).toEqual(["jobs/chains.yaml"]);
    expect(text(at.cwd, "jobs", "chains.yaml")).toBe("# mine\n");
  });
});
