import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { createProgram } from "../../src/cli/program.ts";
import { capturedEdges, run } from "./edges.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const COMMANDS = (await createProgram(capturedEdges().edges, () => undefined)).commands.map((command) =>
  command.name(),
);

test("--version prints the version of the package, and --help what can be done, both with exit code 0", async () => {
  for (const words of [["--version"], ["-v"], ["version"]])
    expect(await run(words)).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: "" });

  const help = await run(["--help"]);
  expect(help).toMatchObject({ exitCode: 0, stderr: "" });
  for (const command of COMMANDS) expect(help.stdout).toMatch(new RegExp(`^  ${command}\\b`, "m"));
});

test.each(COMMANDS)("%s --help says what it does and what its exit codes mean", async (command) => {
  const { exitCode, stdout, stderr } = await run([command, "--help"]);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toContain(`Usage: quotekeeper ${command}`);
  expect(stdout).toContain("Exit codes: 0 done, 1 something needs a person, 2 wrong usage or configuration.");
});

test("--help has the commands in groups, in the order in which a user meets them", async () => {
  const { stdout } = await run(["--help"]);

  expect([...stdout.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading)).toEqual([
    ...["Options", "First use", "Collect", "Ask", "Archive", "Operate", "Commands"],
  ]);
});

test.each(COMMANDS)(
  "%s --help has an example, whose options it has, and calls no switch off by default",
  async (name) => {
    const { stdout } = await run([name, "--help"]);
    const [, example = ""] = /^Example:\n {2}quotekeeper (.+)$/m.exec(stdout) ?? [];
    const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");

    expect(words[0]).toBe(name);
    const program = await createProgram(capturedEdges().edges, () => undefined);
    const whole = program.commands.find((one) => one.name() === name);
    const command = whole?.commands.find((one) => one.name() === words[1]) ?? whole;
    expect(command?.parseOptions(words.slice(1)).unknown).toEqual([]);
    expect(stdout).not.toContain("default: false");
  },
);

test("quotekeeper without a command shows the help, as wrong usage", async () => {
  const { exitCode, stdout, stderr } = await run([]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain("Usage: quotekeeper");
});

test.each([
  ["symbols without their flag", ["poll", "AAPL", "GE"], /poll takes no words: give --symbols AAPL,GE/],
  ["an unknown command", ["pol"], /unknown command 'pol'.*Did you mean poll\?/s],
  [
    "an unknown command whose help is asked for",
    ["pol", "--help"],
    /unknown command 'pol'.*Did you mean poll\?/s,
  ],
  ["an unknown command behind help", ["help", "nosuch"], /unknown command 'nosuch'/],
  [
    "an unknown command of a group, and its help",
    ["jobs", "chek", "-h"],
    /unknown command 'chek'.*Did you mean check/s,
  ],
  ["an unknown option", ["status", "--jsn"], /unknown option '--jsn'.*Did you mean --json\?/s],
  ["a value that is missing", ["poll", "--symbols"], /option '--symbols <list>' argument missing/],
  ["nothing to poll", ["poll"], /give one of --symbols, --watchlist or --option/],
  [
    "two forms of a poll",
    ["poll", "--symbols", "AAPL", "--watchlist", "DEFAULT"],
    /'--(symbols|watchlist).*cannot be used with option '--(symbols|watchlist)/,
  ],
  ["no symbol", ["poll", "--symbols", ","], /names no symbol; expected for example AAPL,MSFT/],
  [
    "a symbol with a space",
    ["poll", "--symbols", "AAPL,BRK B"],
    /"BRK B" is not a symbol: put commas between symbols/,
  ],
  ["a watchlist without a name", ["poll", "--watchlist", ""], /Expected the id of a watchlist/],
  ["a contract of three parts", ["poll", "--option", "AAPL:2026-12-18:CALL"], /expected for example AAPL:/],
  [
    "a contract on a date that does not exist",
    ["poll", "--option", "AAPL:2026-02-30:CALL:150"],
    /the expiration is not a date; expected for example AAPL:2026-12-18:CALL:150/,
  ],
  [
    "a contract of another type",
    ["poll", "--option", "AAPL:2026-12-18:BOTH:150"],
    /the type is neither CALL nor PUT/,
  ],
  ["a strike of 0", ["poll", "--option", "AAPL:2026-12-18:PUT:0"], /the strike is not a decimal above 0/],
  ["a service without a source", ["serve"], /required option '--source <source>' not specified/],
  ["a source there is not", ["serve", "--source", "moon"], /'moon' is invalid.*simulated/],
  [
    "a port that does not exist",
    ["serve", "--source", "simulated", "--port", "65536"],
    /--port.*Expected a whole number from 0 to 65535/,
  ],
  ["a word for a port", ["serve", "--source", "simulated", "--port", "http"], /whole number from 0 to 65535/],
])(
  "wrong usage ends with exit code 2, names what is wrong, and prints no result: %s",
  async (_name, argv, message) => {
    const { exitCode, stdout, stderr } = await run(argv);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).toContain("(add --help for what is possible)");
  },
);

test("a contract of another root that has no OCC symbol is refused in the name of the service that is asked", async () => {
  const { exitCode, stdout, stderr } = await run(["poll", "--option", "SPX/SPXW:2026-12-18:CALL:5000.1234"]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toContain(
    "Market Quotes Service cannot be asked for SPX/SPXW:2026-12-18:CALL:5000.1234: it has no OCC symbol",
  );
});

test("a key that is not complete is refused without being shown", async () => {
  const { exitCode, stderr } = await run(["serve", "--source", "simulated", "--key", "canary-ck:canary-cs:"]);

  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^USAGE: --key: expected consumerKey:consumerSecret:token:tokenSecret/);
  expect(stderr).not.toContain("canary");
});

test.each([
  ["status"],
  ["migrate"],
  ["jobs", "check"],
  ["poll", "--symbols", "AAPL"],
  ["start"],
  ["collect"],
])("wrong settings end %s %s with exit code 2 before anything is done", async (...argv) => {
  const { exitCode, stdout, stderr } = await run(argv.filter(Boolean), {
    QUOTES_BASE_URL: "https://api.broker.example",
    QUOTES_CONSUMER_KEY: "canary-key",
    QUOTES_CONSUMER_SECRET: "canary-secret",
    QUOTES_ACCESS_TOKEN: "canary-token",
  });

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(stderr).toMatch(
    /^CONFIG_INVALID: 1 problem in the settings:\n {2}QUOTES_ACCESS_TOKEN_SECRET is not set/,
  );
  expect(stderr).toContain("docs/configuration.md");
  expect(stderr).not.toContain("canary");
});
