import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readAccounts, requireAccounts } from "../../src/accounts/accountsFile.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { exposedSecrets, misspeltSettings } from "../../src/config/settingSources.ts";
import { describeProblem } from "../../src/config/yamlFile.ts";
import { run } from "../cli/edges.ts";
import { accountVariables, accountYaml, CREDENTIALS, variableOf } from "../support/accounts.ts";
import { runs } from "../support/runs.ts";
import { tempDir } from "../support/tempDir.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";

/** A jobs directory with these files, only its owner's. */
function jobsDir(files: Record<string, string>): string {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text, { mode: 0o600 });
  return dir;
}

function read(dir: string, env: Record<string, string> = accountVariables("main", "second")) {
  return readAccounts(dir, loadConfig({ QUOTEKEEPER_JOBS_DIR: dir, ...env }, dir));
}

/** The problems of a directory, `file:line: message`. */
async function problemsIn(dir: string, env?: Record<string, string>): Promise<string[]> {
  const { accounts, problems } = await read(dir, env);
  expect(accounts.length > 0).toBe(problems.length === 0);
  return problems.map((problem) => describeProblem(problem).replaceAll(`${dir}/`, ""));
}

/** The problems of one accounts.yaml, `line: message`. */
async function problemsOf(accounts: string, env?: Record<string, string>): Promise<string[]> {
  const problems = await problemsIn(jobsDir({ "accounts.yaml": `accounts:\n${accounts}` }), env);
  return problems.map((problem) => problem.replace(/^accounts\.yaml:/, ""));
}

test("accounts.yaml gives the accounts, each with its limit and with its secrets from files or variables", async () => {
  const dir = jobsDir({
    "accounts.yaml": `accounts:\n${accountYaml("main", {
      ...{ limit: "120", windowMs: "30000" },
      ...{ consumerSecretVariable: null, consumerSecretFile: "./main.secret" },
    })}${accountYaml("second", { baseUrl: "https://api.broker.example/" })}`,
    "main.secret": "  from a file\r\n",
  });

  const { accounts, problems } = await read(dir);

  expect(problems).toEqual([]);
  expect(accounts).toEqual([
    {
      name: "main",
      service: REFERENCE,
      feed: {
        kind: "account",
        baseUrl: "https://api.broker.example",
        credentials: {
          consumerKey: "main's consumerKey",
          consumerSecret: "from a file",
          accessToken: "main's accessToken",
          accessTokenSecret: "main's accessTokenSecret",
        },
      },
      ...{ limit: 120, limitGiven: true, limitWindowMs: 30_000 },
    },
    expect.objectContaining({ name: "second", limit: 60, limitGiven: false, limitWindowMs: 60_000 }),
  ]);
  expect(accounts[1]?.feed).toMatchObject({ baseUrl: "https://api.broker.example" });
});

test("accounts that were read cannot be changed, nor can their credentials", async () => {
  const dir = jobsDir({ "accounts.yml": `accounts:\n${accountYaml("main")}` });

  const [main] = (await read(dir)).accounts;

  expect(main).toMatchObject({ name: "main" });
  const feed = main?.feed;
  for (const value of [main, feed, feed?.kind === "account" ? feed.credentials : {}])
    expect(Object.isFrozen(value)).toBe(true);
});

test("without accounts.yaml the accounts are the one of the variables, or the simulated ones", async () => {
  const [baseUrl, key] = ["https://api.broker.example", "key"];
  const polled = {
    ...{ QUOTES_BASE_URL: baseUrl, QUOTES_CONSUMER_KEY: key, QUOTES_CONSUMER_SECRET: "secret" },
    ...{ QUOTES_ACCESS_TOKEN: "token", QUOTES_ACCESS_TOKEN_SECRET: "token-secret" },
  };

  const one = await read(tempDir(), polled);
  const simulated = await read(join(tempDir(), "nowhere"), { QUOTEKEEPER_SIMULATED_ACCOUNTS: "2" });
  const beside = await readAccounts(join(jobsDir({ file: "" }), "file"), loadConfig({}, tempDir()));

  expect(one).toMatchObject({
    accounts: [{ name: "default", feed: { baseUrl, credentials: { consumerKey: key } } }],
    problems: [],
  });
  expect(beside).toMatchObject({ accounts: [{ name: "default" }], problems: [] });
  expect(simulated).toMatchObject({
    accounts: [{ name: "default", feed: { kind: "simulated" } }, { name: "simulated-2" }],
    problems: [],
  });
});

test("an account without a limit has that of QUOTES_LIMIT, so that a lower limit still holds", async () => {
  const dir = jobsDir({
    "accounts.yaml": `accounts:\n${accountYaml("main")}${accountYaml("second", { limit: "50" })}`,
  });
  const env = { ...accountVariables("main", "second"), QUOTES_LIMIT: "30", QUOTES_LIMIT_WINDOW_MS: "1000" };

  const { accounts } = await read(dir, env);

  expect(accounts).toMatchObject([
    { limit: 30, limitGiven: true, limitWindowMs: 1_000 },
    { limit: 50, limitGiven: true, limitWindowMs: 1_000 },
  ]);
});

const NAME = "expected a name of letters, digits, dots, dashes and underscores, at most 64 of them";
const OPTIONS =
  "expected name, service, baseUrl, limit, windowMs, whenUnsure, consumerKeyFile, consumerKeyVariable, consumerSecretFile, consumerSecretVariable, accessTokenFile, accessTokenVariable, accessTokenSecretFile, accessTokenSecretVariable, keyIdFile, keyIdVariable, secretKeyFile, secretKeyVariable, stockFeed, optionFeed or tradingUrl";

test.each([
  ["an empty list", "  []\n", ["1: accounts: expected at least one entry"]],
  [
    "an account that is none",
    "  - main\n",
    expect.arrayContaining(["2: accounts[0]: expected options, each as name: value"]),
  ],
  ["a name that is none", accountYaml("main", { name: "my account" }), [`2: accounts[0].name: ${NAME}`]],
  [
    "a name that two have, but for its case",
    `${accountYaml("main")}${accountYaml("second", { name: "Main" })}`,
    ["8: accounts[1].name is that of accounts[0] too: each needs a name of its own, in any case"],
  ],
  [
    "an account that is there twice",
    `${accountYaml("main")}${accountYaml("second", {
      consumerKeyVariable: variableOf("main", "consumerKey"),
      accessTokenVariable: variableOf("main", "accessToken"),
    })}`,
    ["8: accounts[1] (second) is the same account as main: their consumer key and access token are the same"],
  ],
  [
    "accounts of two services",
    `${accountYaml("main")}${accountYaml("second", { baseUrl: "https://api.other.example" })}`,
    [
      "9: accounts[1].baseUrl is not that of accounts[0]: all accounts are of one service, whose market the archive keeps",
    ],
  ],
  [
    "plain http to another machine",
    accountYaml("main", { baseUrl: "http://api.broker.example" }),
    ["3: accounts[0].baseUrl: expected https, or QUOTES_ALLOW_HTTP=true to go without encryption"],
  ],
  [
    "plain http to another machine in an address of the service's own",
    "  - { name: main, service: alpaca, keyIdVariable: QUOTES_NOWHERE, secretKeyVariable: QUOTES_NOWHERE, tradingUrl: http://broker.example }\n",
    expect.arrayContaining([
      "2: accounts[0].tradingUrl: expected https, or QUOTES_ALLOW_HTTP=true to go without encryption",
    ]),
  ],
  [
    "a limit and a window of nothing",
    accountYaml("main", { limit: "0", windowMs: "0" }),
    [
      "8: accounts[0].limit: expected a whole number from 1 to 100000",
      "9: accounts[0].windowMs: expected a whole number from 1 to 86400000",
    ],
  ],
  [
    "a limit above all bounds, or of hexadecimal digits",
    accountYaml("main", { limit: "100001", windowMs: "0x10" }),
    [
      "8: accounts[0].limit: expected a whole number from 1 to 100000",
      "9: accounts[0].windowMs: expected a whole number from 1 to 86400000",
    ],
  ],
  [
    "a credential in a file and in a variable",
    accountYaml("main", { consumerKeyFile: "./main.key" }),
    ["4: accounts[0] has both consumerKeyFile and consumerKeyVariable: keep one of them"],
  ],
  [
    "a credential that is nowhere",
    accountYaml("main", { accessTokenVariable: null }),
    ["2: accounts[0] has no accessToken: give accessTokenFile or accessTokenVariable"],
  ],
  [
    "a variable that is not set, or not an account's",
    accountYaml("main", { accessTokenVariable: "QUOTES_NOWHERE", consumerKeyVariable: "constructor" }),
    [
      "4: accounts[0].consumerKeyVariable names a variable that does not begin with QUOTES_: rename it here and where it is set, for example SECOND_KEY to QUOTES_SECOND_KEY",
      "6: accounts[0].accessTokenVariable names a variable that is not set",
    ],
  ],
  [
    "a secret itself",
    accountYaml("main", { consumerKeyVariable: null, consumerKey: "hunter2" }),
    [
      `7: accounts[0] holds something that is not an option here: ${OPTIONS}`,
      "7: accounts[0].consumerKey stands here itself, which no secret may: give consumerKeyFile or consumerKeyVariable in its place",
    ],
  ],
  [
    "options without a value",
    accountYaml("main", { consumerKeyVariable: "", limit: "" }),
    [
      "4: accounts[0].consumerKeyVariable: expected text",
      "8: accounts[0].limit: expected a whole number from 1 to 100000",
    ],
  ],
  [
    "an address with a password",
    accountYaml("main", { baseUrl: "https://me:hunter2@api.broker.example" }),
    ["3: accounts[0].baseUrl: expected an address without user name and password"],
  ],
  [
    "an option that does not exist",
    accountYaml("main", { limits: "60" }),
    [`8: accounts[0] holds something that is not an option here: ${OPTIONS}`],
  ],
])("%s is a problem with its line", async (_name, text, expected) => {
  expect(await problemsOf(text)).toEqual(expected);
});

test("all problems are named at once: those of the options, of the secrets and between the accounts", async () => {
  const text = `${accountYaml("main", { limit: "none", consumerKeyVariable: "QUOTES_NOWHERE" })}${accountYaml(
    "second",
    {
      ...{ name: "MAIN", baseUrl: "https://api.other.example", limt: "60" },
      ...{ consumerSecretVariable: null, accessTokenFile: "x", accessTokenSecretVariable: null },
      accessTokenSecretFile: "./nowhere",
    },
  )}`;

  expect(await problemsOf(text)).toEqual([
    "4: accounts[0].consumerKeyVariable names a variable that is not set",
    "8: accounts[0].limit: expected a whole number from 1 to 100000",
    "9: accounts[1].name is that of accounts[0] too: each needs a name of its own, in any case",
    "9: accounts[1] has no consumerSecret: give consumerSecretFile or consumerSecretVariable",
    expect.stringMatching(/^10: accounts\[1\]\.baseUrl is not that of accounts\[0\]/),
    "12: accounts[1] has both accessTokenFile and accessTokenVariable: keep one of them",
    expect.stringMatching(/^13: accounts\[1\] holds something that is not an option here/),
    "15: accounts[1].accessTokenSecretFile names a file that cannot be read (ENOENT)",
  ]);
});

test("of more than a hundred problems the last line says how many more there are", async () => {
  const text = Array.from({ length: 60 }, () => accountYaml("main", { limit: "0" })).join("");

  const told = await problemsOf(text);

  expect(told).toHaveLength(101);
  expect(told[100]).toMatch(/^\d+: from here on are 78 more problems$/);
  expect(told[0]).toMatch(/^8: accounts\[0\]\.limit/);
});

describe("a secret's file", () => {
  const byFile = { consumerKeyVariable: null, consumerKeyFile: "./main.key" };
  const TEXT = `accounts:\n${accountYaml("main", byFile)}`;

  test.each([
    ["that is missing", {}, "cannot be read (ENOENT)"],
    ["that is empty", { "main.key": " \n" }, "is empty"],
  ])("a secret's file %s is a problem", async (_name, files: Record<string, string>, problem) => {
    expect(await problemsIn(jobsDir({ "accounts.yaml": TEXT, ...files }))).toEqual([
      `accounts.yaml:7: accounts[0].consumerKeyFile names a file that ${problem}`,
    ]);
  });

  test("a secret's file that others may read is a problem, although its directory is closed; a group may read it", async () => {
    const dir = jobsDir({ "accounts.yaml": TEXT, "main.key": "key" });
    chmodSync(dir, 0o700);
    chmodSync(join(dir, "main.key"), 0o604);
    const open = await problemsIn(dir);
    chmodSync(join(dir, "main.key"), 0o640);

    expect(open).toEqual([
      "accounts.yaml:7: accounts[0].consumerKeyFile names a file that every user of this machine may read: take that right away (chmod o-r)",
    ]);
    expect(await problemsIn(dir)).toEqual([]);
  });
});

describe("beside the settings", () => {
  const ACCOUNT = {
    QUOTES_BASE_URL: "https://api.broker.example",
    ...{ QUOTES_CONSUMER_KEY: "main's consumerKey", QUOTES_CONSUMER_SECRET: "other secret" },
    ...{ QUOTES_ACCESS_TOKEN: "main's accessToken", QUOTES_ACCESS_TOKEN_SECRET: "other secret" },
  };
  const dir = jobsDir({ "accounts.yaml": `accounts:\n${accountYaml("main")}` });
  const env = accountVariables("main");

  test("the account of the variables may be one of the file's", async () => {
    expect(await problemsIn(dir, { ...env, ...ACCOUNT })).toEqual([]);
  });

  test.each([
    ["address", { QUOTES_BASE_URL: "https://api.other.example" }],
    ["key", { QUOTES_CONSUMER_KEY: "another" }],
    ["token", { QUOTES_ACCESS_TOKEN: "another" }],
  ])("the account of the variables with another %s is a problem", async (_name, other) => {
    expect(await problemsIn(dir, { ...env, ...ACCOUNT, ...other })).toEqual([
      "accounts.yaml:1: QUOTES_BASE_URL is set, and its account is none of these: add it here, or unset QUOTES_BASE_URL, for these accounts are polled in its place",
    ]);
  });

  test("simulated accounts are a problem: the file's are real ones", async () => {
    expect(await problemsIn(dir, { ...env, QUOTEKEEPER_SIMULATED_ACCOUNTS: "2" })).toEqual([
      "accounts.yaml:1: QUOTEKEEPER_SIMULATED_ACCOUNTS is for the simulated market: unset it, or remove this file",
    ]);
  });

  test("plain http to another machine goes with QUOTES_ALLOW_HTTP, and to this one without", async () => {
    const to = (baseUrl: string): string => accountYaml("main", { baseUrl });

    expect(await problemsOf(to("http://api.broker.example"), { ...env, QUOTES_ALLOW_HTTP: "true" })).toEqual(
      [],
    );
    expect(await problemsOf(to("http://127.0.0.1:8090"), env)).toEqual([]);
  });

  test("the credentials' own variables may be named by the file, without QUOTES_BASE_URL", async () => {
    const { QUOTES_BASE_URL: _, ...credentials } = ACCOUNT;
    const named = Object.fromEntries(
      Object.keys(credentials).map((name, place) => [`${CREDENTIALS[place]}Variable`, name]),
    );

    expect(await problemsOf(accountYaml("main", named), credentials)).toEqual([]);
    expect(() => loadConfig({ ...credentials, QUOTEKEEPER_JOBS_DIR: tempDir() }, dir)).toThrow(
      /QUOTES_BASE_URL is not set/,
    );
  });

  test("a variable that the file names is not taken for a misspelt setting, and is a secret in .env", () => {
    const text = accountYaml("main", { consumerKeyVariable: '"QUOTES_MAIN_KEY"' });
    const jobs = jobsDir({ "accounts.yaml": `accounts:\n${text}` });
    const given = { QUOTEKEEPER_JOBS_DIR: jobs, QUOTES_OTHER_KEY: "x" };
    const home = tempDir();
    writeFileSync(join(home, ".env"), "QUOTES_MAIN_KEY=canary\n");
    for (const open of [home, join(home, "..")]) chmodSync(open, 0o755);
    chmodSync(join(home, ".env"), 0o644);

    expect(misspeltSettings(given, home).map(({ name }) => name)).toEqual(["QUOTES_OTHER_KEY"]);
    expect(exposedSecrets(given, home)?.message).toContain(join(home, ".env"));
    expect(exposedSecrets({}, home)).toBeNull();
  });
});

test("accounts.yaml and accounts.yml together are a problem", async () => {
  const text = `accounts:\n${accountYaml("main")}`;

  expect(await problemsIn(jobsDir({ "accounts.yaml": text, "accounts.yml": text }))).toEqual([
    "accounts.yml:1: accounts.yaml is here as well: keep one of them",
  ]);
});

test("an accounts file that cannot be read does not pass for none", async () => {
  const [folder, link] = [jobsDir({}), jobsDir({})];
  mkdirSync(join(folder, "accounts.yaml"));
  symlinkSync(join(link, "nowhere"), join(link, "accounts.yaml"));

  expect(await problemsIn(folder)).toEqual(["accounts.yaml:1: the file cannot be read (EISDIR)"]);
  expect(await problemsIn(link)).toEqual(["accounts.yaml:1: the file cannot be read (ENOENT)"]);
});

test.each([
  ["nothing", "", "accounts.yaml:1: the file: expected options, each as name: value"],
  [
    "secrets in place of options",
    "hunter2\n",
    "accounts.yaml:1: the file has no option of its kind: expected accounts, each as name: value",
  ],
  ["an alias", "accounts: *hunter2\n", expect.stringContaining(":1: * stands for another place of the file")],
  ["an open bracket", "accounts: [hunter2\n", expect.stringMatching(/:\d: this is not YAML: [A-Z_]+$/)],
  ["a name twice", "accounts: []\naccounts: []\n", "accounts.yaml:2: an option is given twice"],
])("an accounts file with %s is a problem", async (_name, text, problem) => {
  expect(await problemsIn(jobsDir({ "accounts.yaml": text }))).toEqual(expect.arrayContaining([problem]));
});

test("a command that needs accounts refuses an accounts file with problems, and names them all", async () => {
  const dir = jobsDir({ "accounts.yaml": `accounts:\n${accountYaml("main", { limit: "0" })}` });
  const missing = join(dir, "nowhere");

  await expect(requireAccounts(dir, loadConfig({}, dir))).rejects.toMatchObject({
    code: "JOBS_INVALID",
    exitCode: 2,
    message: expect.stringMatching(/5 problems in the files of the jobs directory[^]*accounts\.yaml:8: /),
  });
  expect(await requireAccounts(missing, loadConfig({}, dir))).toMatchObject([{ name: "default" }]);
});

describe("no secret is told", () => {
  /** Letters that mean something to YAML, to an address, or to nobody. */
  const secret = fc
    .string({ unit: fc.constantFrom(..."aB9 :#-_.,@/%&*!|>'\"[]{}\\?\t"), maxLength: 16 })
    .map((tail) => `canary7Q${tail}`);
  /** Where a hasty hand may put one. */
  const slips: ((secret: string) => string)[] = [
    ...CREDENTIALS.flatMap((what) => [
      (text: string) => accountYaml("main", { [`${what}Variable`]: null, [what]: text }),
      (text: string) => accountYaml("main", { [`${what}Variable`]: text }),
      (text: string) => accountYaml("main", { [`${what}Variable`]: null, [`${what}File`]: text }),
      (text: string) => accountYaml("main", { [`${what}Variable`]: `\n      ${text}: x` }),
      (text: string) => accountYaml("main", { [`${what}Variable`]: `[${text}]` }),
      (text: string) => accountYaml("main").replace(`${what}Variable: `, `${what} ${text} `),
    ]),
    (text) => `${accountYaml("main")}    ${text}\n`,
    (text) => `${accountYaml("main")}    ${text}: x\n    ${text}: y\n`,
    (text) => `${accountYaml("main")}  - ${text}\n`,
    (text) => accountYaml("main", { baseUrl: `https://me:${text}@api.broker.example` }),
    (text) => accountYaml("main", { limit: text }),
    (text) => accountYaml("main", { name: `main ${text}` }),
    (text) => `  - { name: main, consumerKey ${text} }\n`,
    (text) => `  - { name: main, ${text} }\n`,
    (text) => `  - *${text}\n`,
    (text) => `  - !${text} x\n`,
    (text) => `  - >${text}\n   x\n`,
    (text) => `  - "\\${text}"\n`,
    (text) => `]${text}\n`,
  ];

  test("no problem shows a secret that stands anywhere in accounts.yaml, whatever else is wrong there", async () => {
    const dir = jobsDir({});
    await fc.assert(
      fc.asyncProperty(secret, fc.constantFrom(...slips), async (text, slip) => {
        writeFileSync(join(dir, "accounts.yaml"), `accounts:\n${slip(text)}`);

        const { problems } = await read(dir, accountVariables("main"));

        expect(problems.length).toBeGreaterThan(0);
        expect(JSON.stringify(problems)).not.toContain("canary7Q");
      }),
      { numRuns: runs(300) },
    );
  });

  test("no command prints a secret that stands in a file or a variable, whether it ends with problems or without", async () => {
    await fc.assert(
      fc.asyncProperty(secret, fc.boolean(), async (text, right) => {
        const dir = jobsDir({
          "accounts.yaml": `accounts:\n${accountYaml("main", {
            ...{ consumerKeyVariable: null, consumerKeyFile: "./main.key" },
            limit: right ? "60" : "0",
          })}${accountYaml("main", { name: "twin", consumerKeyVariable: variableOf("main", "consumerSecret") })}`,
          "main.key": text,
          "a.yaml": `name: a\nschedule: "* * * * *"\naccount: main\nsymbols: [AAPL]\n`,
        });
        const secrets = Object.keys(accountVariables("main")).map((name) => [name, text] as const);
        const env = { QUOTEKEEPER_JOBS_DIR: dir, ...Object.fromEntries(secrets) };

        for (const flags of [[], ["--json"]]) {
          const { exitCode, stdout, stderr } = await run(["jobs", "check", ...flags], env);

          expect(exitCode).toBe(2);
          expect(stdout + stderr).not.toContain("canary7Q");
        }
        const error: unknown = await requireAccounts(dir, loadConfig(env, dir)).catch((thrown) => thrown);
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("canary7Q");
      }),
      { numRuns: 20 },
    );
  });
});
