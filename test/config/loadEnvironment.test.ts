import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Config, loadConfig } from "../../src/config/loadEnvironment.ts";
import { QuotekeeperError } from "../../src/ground/errors.ts";
import { REFERENCE } from "../../src/services/reference/reference.ts";
import { tempDir } from "../support/tempDir.ts";

const ACCOUNT = {
  QUOTES_BASE_URL: "https://api.broker.example",
  QUOTES_CONSUMER_KEY: "key",
  QUOTES_CONSUMER_SECRET: "secret",
  QUOTES_ACCESS_TOKEN: "token",
  QUOTES_ACCESS_TOKEN_SECRET: "token-secret",
};

const SECRETS = [
  "DATABASE_URL",
  "QUOTES_CONSUMER_KEY",
  "QUOTES_CONSUMER_SECRET",
  "QUOTES_ACCESS_TOKEN",
  "QUOTES_ACCESS_TOKEN_SECRET",
];

/** The settings without the way to look a variable up, and without our own files, which differ by directory. */
function load(
  env: Record<string, string | undefined>,
  directory = tempDir(),
): Omit<Config, "variable" | "ownFiles"> {
  const { variable: _, ownFiles: __, ...settings } = loadConfig(env, directory);
  return Object.freeze(settings);
}

/** The error that the settings meet, or null when they are right. */
function refusal(env: Record<string, string | undefined>, directory?: string): QuotekeeperError | null {
  try {
    load(env, directory);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(QuotekeeperError);
    return error as QuotekeeperError;
  }
}

/** The problems that the settings meet, a line each. */
function problems(env: Record<string, string | undefined>, directory?: string): string[] {
  const error = refusal(env, directory);
  if (error === null) return [];
  expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 2 });
  return error.message
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.trim());
}

function fileWith(content: string): string {
  const path = join(tempDir(), "secret");
  writeFileSync(path, content);
  return path;
}

test("with nothing set, the simulated market is polled 60 times a minute and kept in the embedded database", () => {
  expect(load({})).toEqual({
    databaseUrl: null,
    service: REFERENCE,
    feed: { kind: "simulated" },
    limit: 60,
    limitGiven: false,
    limitWindowMs: 60_000,
    simulatedAccounts: 1,
    dataDir: "./data",
    jobsDir: "./jobs",
    httpHost: "127.0.0.1",
    httpPort: 8080,
    webHosts: [],
    webProxies: [],
    logLevel: "info",
    journalReaders: "owner",
  });
});

test("every setting is taken from its variable, and TLS of an address that says nothing of it from PGSSLMODE", () => {
  const config = load({
    ...ACCOUNT,
    DATABASE_URL: "postgres://me:pw@db.example:5433/quotes",
    DATABASE_READER_URL: "postgres://you:pw@db.example:5433/quotes?sslmode=disable",
    PGSSLMODE: "require",
    QUOTES_LIMIT: "120",
    QUOTES_LIMIT_WINDOW_MS: "30000",
    QUOTEKEEPER_DATA_DIR: "/srv/data",
    QUOTEKEEPER_JOBS_DIR: "/srv/jobs",
    QUOTEKEEPER_SECRETS_DIR: "/srv/secrets",
    QUOTEKEEPER_HTTP_HOST: "0.0.0.0",
    QUOTEKEEPER_HTTP_PORT: "0",
    QUOTEKEEPER_WEB_HOSTS: "Quotes.example, desk",
    QUOTEKEEPER_WEB_PROXIES: "127.0.0.1,fd00::/8",
    QUOTEKEEPER_LOG_LEVEL: "debug",
    QUOTEKEEPER_JOURNAL_READERS: "group",
  });

  expect(config).toEqual({
    databaseUrl: "postgres://me:pw@db.example:5433/quotes?sslmode=require",
    databaseReaderUrl: "postgres://you:pw@db.example:5433/quotes?sslmode=disable",
    service: REFERENCE,
    feed: {
      kind: "account",
      baseUrl: "https://api.broker.example",
      credentials: {
        consumerKey: "key",
        consumerSecret: "secret",
        accessToken: "token",
        accessTokenSecret: "token-secret",
      },
    },
    limit: 120,
    limitGiven: true,
    limitWindowMs: 30_000,
    simulatedAccounts: 1,
    dataDir: "/srv/data",
    jobsDir: "/srv/jobs",
    secretsDir: "/srv/secrets",
    httpHost: "0.0.0.0",
    httpPort: 0,
    webHosts: ["quotes.example", "desk"],
    webProxies: ["127.0.0.1", "fd00::/8"],
    logLevel: "debug",
    journalReaders: "group",
  });
});

test("a variable that is set to nothing, or to blanks, counts as not set", () => {
  expect(
    load({ DATABASE_URL: "", QUOTES_BASE_URL: "  ", QUOTES_LIMIT: "", QUOTES_CONSUMER_KEY: "\t" }),
  ).toEqual(load({}));
});

test("the settings cannot be changed once they are read, the credentials neither", () => {
  const config = load(ACCOUNT);
  const { feed } = config;

  expect(() => Object.assign(config, { limit: 1 })).toThrow(TypeError);
  expect(() => Object.assign(feed, { kind: "simulated" })).toThrow(TypeError);
  expect(() => Object.assign(feed.kind === "account" ? feed.credentials : {}, { consumerKey: "x" })).toThrow(
    TypeError,
  );
});

test("all problems are named at once, each with its variable, its value and what is expected", () => {
  expect(
    problems({
      DATABASE_URL: "mysql://db",
      QUOTES_BASE_URL: "ftp://api.broker.example",
      QUOTES_LIMIT: "0",
      QUOTES_LIMIT_WINDOW_MS: "a minute",
      QUOTEKEEPER_HTTP_PORT: "65536",
      QUOTEKEEPER_WEB_HOSTS: "quotes.example,https://desk",
      QUOTEKEEPER_WEB_PROXIES: "10.0.0.0/33",
      QUOTEKEEPER_LOG_LEVEL: "loud",
      QUOTES_CONSUMER_KEY: "key",
      QUOTES_CONSUMER_SECRET: "secret",
    }),
  ).toEqual([
    "DATABASE_URL: expected a postgresql:// address",
    'QUOTES_BASE_URL is "ftp://api.broker.example": expected an http or https address, such as https://api.broker.example',
    'QUOTES_LIMIT is "0": expected a whole number from 1 to 100000',
    'QUOTES_LIMIT_WINDOW_MS is "a minute": expected a whole number from 1 to 86400000',
    'QUOTEKEEPER_HTTP_PORT is "65536": expected a whole number from 0 to 65535',
    'QUOTEKEEPER_WEB_HOSTS is "quotes.example,https://desk": expected names such as quotes.example, without scheme and port',
    'QUOTEKEEPER_WEB_PROXIES is "10.0.0.0/33": expected IP addresses, or networks such as 10.0.0.0/8, between commas',
    'QUOTEKEEPER_LOG_LEVEL is "loud": expected one of trace, debug, info, warn, error, fatal, silent',
    "QUOTES_ACCESS_TOKEN is not set, and QUOTES_BASE_URL is: polling an account needs all four credentials",
    "QUOTES_ACCESS_TOKEN_SECRET is not set, and QUOTES_BASE_URL is: polling an account needs all four credentials",
  ]);
});

test.each(["1.5", "-1", "abc", "1e99", "Infinity", "NaN"])("a limit of %s calls is refused", (limit) => {
  expect(problems({ QUOTES_LIMIT: limit })).toEqual([
    `QUOTES_LIMIT is "${limit}": expected a whole number from 1 to 100000`,
  ]);
});

test.each(SECRETS.slice(1))("an address without %s is refused, and just that variable is named", (name) => {
  const error = refusal({ ...ACCOUNT, [name]: undefined });

  expect(error?.exitCode).toBe(2);
  const named = SECRETS.filter((secret) => new RegExp(`${secret}\\b`).test(error?.message ?? ""));
  expect(named).toEqual([name]);
});

test("credentials without an address are refused rather than answered with simulated quotes, even from a file that cannot be read", () => {
  const { QUOTES_BASE_URL: _, ...credentials } = ACCOUNT;
  const one =
    "QUOTES_BASE_URL is not set, and QUOTES_ACCESS_TOKEN is: set it, or unset it for the simulated market";

  expect(problems(credentials)).toEqual([
    "QUOTES_BASE_URL is not set, and QUOTES_CONSUMER_KEY, QUOTES_CONSUMER_SECRET, QUOTES_ACCESS_TOKEN, " +
      "QUOTES_ACCESS_TOKEN_SECRET are: set it, or unset them for the simulated market",
  ]);
  expect(problems({ QUOTES_ACCESS_TOKEN: "token" })).toEqual([one]);
  expect(problems({ QUOTES_ACCESS_TOKEN_FILE: "/nowhere/token" })).toEqual([
    "QUOTES_ACCESS_TOKEN_FILE names /nowhere/token, which cannot be read (ENOENT)",
    one,
  ]);
});

test.each([
  ["https://api.broker.example/", "https://api.broker.example"],
  ["https://api.broker.example//", "https://api.broker.example"],
  ["http://127.0.0.1:8090", "http://127.0.0.1:8090"],
  ["https://broker.example/api/", "https://broker.example/api"],
  ["  https://api.broker.example  ", "https://api.broker.example"],
])("the address %s is kept as %s", (given, kept) => {
  expect(load({ ...ACCOUNT, QUOTES_BASE_URL: given }).feed).toMatchObject({ baseUrl: kept });
});

const NO_ADDRESS = "expected an http or https address, such as https://api.broker.example";

test.each([
  ["https://api.broker.example/v1", ' is "https://api.broker.example/v1": expected the part before /v1'],
  ["https://api.broker.example/v1/", ' is "https://api.broker.example/v1/": expected the part before /v1'],
  ["api.broker.example", ` is "api.broker.example": ${NO_ADDRESS}`],
  ["https:", ` is "https:": ${NO_ADDRESS}`],
  ["https://", ` is "https://": ${NO_ADDRESS}`],
  ["http:///x", ` is "http:///x": ${NO_ADDRESS}`],
  ["file:///etc/passwd", ` is "file:///etc/passwd": ${NO_ADDRESS}`],
  // Of these no part is shown.
  ["https://me:hunter2@api.broker.example", ": expected an address without user name and password"],
  ["https://api.broker.example?token=hunter2", ": expected an address without query and fragment"],
])("the address %s is refused: QUOTES_BASE_URL%s", (given, problem) => {
  expect(problems({ ...ACCOUNT, QUOTES_BASE_URL: given })).toEqual([`QUOTES_BASE_URL${problem}`]);
});

test("a secret in a file is read from the file that NAME_FILE names, from the directory of the start on, without the white space around it", () => {
  const directory = tempDir();
  writeFileSync(join(directory, "token.txt"), "from-there");

  const { databaseUrl, feed } = load(
    {
      ...{ ...ACCOUNT, QUOTES_CONSUMER_SECRET: undefined, QUOTES_ACCESS_TOKEN: undefined },
      QUOTES_CONSUMER_SECRET_FILE: fileWith("  from-a-file\r\n"),
      QUOTES_ACCESS_TOKEN_FILE: "token.txt",
      DATABASE_URL_FILE: fileWith("postgresql://db/quotes\n"),
    },
    directory,
  );

  expect(databaseUrl).toBe("postgresql://db/quotes");
  expect(feed).toMatchObject({ credentials: { consumerSecret: "from-a-file", accessToken: "from-there" } });
});

test.each(SECRETS)("a secret that stands in a file and in the variable as well is refused: %s", (name) => {
  const [problem, ...others] = problems({
    ...ACCOUNT,
    DATABASE_URL: "postgresql://db/quotes",
    [`${name}_FILE`]: fileWith("x"),
  });

  expect(problem).toBe(`${name} and ${name}_FILE are both set; keep one`);
  expect(others).toEqual([]);
});

test("a secret in a file that cannot be read, or is empty, is a problem that names variable and file", () => {
  const empty = fileWith("\n");
  const directory = tempDir();

  expect(
    problems({
      ...ACCOUNT,
      QUOTES_CONSUMER_KEY: undefined,
      QUOTES_CONSUMER_KEY_FILE: "/nowhere/key",
      QUOTES_CONSUMER_SECRET: undefined,
      QUOTES_CONSUMER_SECRET_FILE: empty,
      QUOTES_ACCESS_TOKEN: undefined,
      QUOTES_ACCESS_TOKEN_FILE: directory,
    }),
  ).toEqual([
    "QUOTES_CONSUMER_KEY_FILE names /nowhere/key, which cannot be read (ENOENT)",
    `QUOTES_CONSUMER_SECRET_FILE names ${empty}, which is empty`,
    `QUOTES_ACCESS_TOKEN_FILE names ${directory}, which cannot be read (EISDIR)`,
  ]);
});

test("the file .env sets what the environment does not, and the environment wins", () => {
  const directory = tempDir();
  writeFileSync(
    join(directory, ".env"),
    "# local settings\nQUOTES_LIMIT=30\nQUOTEKEEPER_HTTP_PORT=9000\nQUOTEKEEPER_DATA_DIR='/srv/my data'\n",
  );

  const config = load({ QUOTES_LIMIT: "45" }, directory);

  expect(config).toMatchObject({ limit: 45, httpPort: 9000, dataDir: "/srv/my data" });
});

test("the file .env is refused where a # would cut an unquoted value, and the value is not shown", () => {
  const directory = tempDir();
  const lines = [
    "QUOTES_ACCESS_TOKEN=canary#1",
    "  export QUOTES_LIMIT=#30",
    "QUOTES_CONSUMER_KEY='a#b'",
    "QUOTEKEEPER_HTTP_PORT=9000 # mine",
    "QUOTEKEEPER_DATA_DIR= # none",
    "COLOUR=#fff",
  ];
  writeFileSync(join(directory, ".env"), lines.join("\r\n"));

  const found = problems({ QUOTES_BASE_URL: "https://api.example" }, directory);

  const remedy = "has a # in .env: put its value in quotes, or a blank before a comment";
  expect(found).toEqual(expect.arrayContaining([`QUOTES_ACCESS_TOKEN ${remedy}`, `QUOTES_LIMIT ${remedy}`]));
  expect(found.filter((problem) => problem.includes("#"))).toHaveLength(2);
  expect(found.join()).not.toContain("canary");
});

test("a file .env that exists and cannot be read ends the start: it may hold the account's address", () => {
  const directory = tempDir();
  mkdirSync(join(directory, ".env"));

  expect(problems({}, directory)).toEqual([`${join(directory, ".env")} cannot be read (EISDIR)`]);
});

test("no value of a secret is in any message, whatever else is wrong", () => {
  const canary = fc
    .string({ unit: fc.constantFrom(..."CANARY0123456789#@?/:%"), minLength: 4, maxLength: 20 })
    .map((tail) => `canary-${tail}`);
  const broken: fc.Arbitrary<Record<string, string>> = fc.record(
    {
      ...Object.fromEntries(SECRETS.map((name) => [name, canary])),
      QUOTES_BASE_URL: fc.oneof(
        canary.map((password) => `https://me:${password}@api.broker.example`),
        canary.map((token) => `https://api.broker.example/?token=${token}`),
        fc.constant("https://api.broker.example/v1"),
      ),
      QUOTES_LIMIT: fc.constantFrom("0", "60"),
    },
    { requiredKeys: [] },
  );
  const directory = tempDir();

  fc.assert(
    fc.property(broken, fc.subarray(SECRETS), (env, alsoFiles) => {
      const given: Record<string, string | undefined> = {
        ...env,
        DATABASE_URL: env["DATABASE_URL"] ?? "canary-db",
      };
      for (const name of alsoFiles) given[`${name}_FILE`] = "/nowhere/secret";
      const error = refusal(given, directory);

      expect(`${error?.message}${error?.stack}`).not.toContain("canary-");
      expect(error?.cause).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});
