/** Which service an account is of, by the settings and by accounts.yaml, and what follows from that. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { accountKey, onlyDelayed } from "../../src/accounts/account.ts";
import { readAccounts } from "../../src/accounts/accountsFile.ts";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { readJobs } from "../../src/schedule/readJobs.ts";
import { TRADIER } from "../../src/services/tradier/tradier.ts";
import { tempDir } from "../support/tempDir.ts";

const TOKEN = { QUOTES_SERVICE: "tradier", QUOTES_ACCESS_TOKEN: "a token" };
const SANDBOX = "https://sandbox.tradier.com";

function settings(env: Record<string, string>, files: Record<string, string> = {}) {
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(dir, "jobs", name), text, { mode: 0o600 });
  return {
    dir: join(dir, "jobs"),
    config: loadConfig({ QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"), ...env }, dir),
  };
}

test("Tradier is polled at its own address with its own limit, and the sandbox with the sandbox's", () => {
  const { config } = settings(TOKEN);
  const { config: sandbox } = settings({ ...TOKEN, QUOTES_BASE_URL: SANDBOX });
  const { config: told } = settings({ ...TOKEN, QUOTES_LIMIT: "30" });

  expect(config.feed).toEqual({
    kind: "account",
    baseUrl: "https://api.tradier.com",
    credentials: { accessToken: "a token" },
  });
  expect(
    [config, sandbox, told].map(({ limit, limitWindowMs, limitGiven }) => [limit, limitWindowMs, limitGiven]),
  ).toEqual([
    [120, 60_000, false],
    [60, 60_000, false],
    [30, 60_000, true],
  ]);
});

test("accounts.yaml names the service of its accounts, which need that service's credentials alone", async () => {
  const { dir, config } = settings(
    { QUOTES_ONE: "first token", QUOTES_TWO: "second token" },
    {
      "accounts.yaml": `accounts:
  - { name: one, service: tradier, accessTokenVariable: QUOTES_ONE }
  - { name: two, service: tradier, accessTokenVariable: QUOTES_TWO, limit: 50 }
`,
    },
  );

  const { accounts, problems } = await readAccounts(dir, config);

  expect(problems).toEqual([]);
  expect(accounts.map(({ name, service, limit }) => [name, service, limit])).toEqual([
    ["one", TRADIER, 120],
    ["two", TRADIER, 50],
  ]);
  expect(new Set(accounts.map(accountKey)).size).toBe(2);
});

test.each([
  [
    "two services",
    "  - { name: one, service: tradier, accessTokenVariable: QUOTES_ONE }\n  - { name: two, baseUrl: https://api.broker.example, consumerKeyVariable: QUOTES_ONE, consumerSecretVariable: QUOTES_ONE, accessTokenVariable: QUOTES_ONE, accessTokenSecretVariable: QUOTES_ONE }\n",
    ".service is not that of accounts[0]",
  ],
  [
    "a credential that Tradier does not have",
    "  - { name: one, service: tradier, accessTokenVariable: QUOTES_ONE, consumerKeyVariable: QUOTES_ONE }\n",
    ".consumerKeyVariable: Tradier has no such credential",
  ],
  [
    "one token for two accounts",
    "  - { name: one, service: tradier, accessTokenVariable: QUOTES_ONE }\n  - { name: two, service: tradier, accessTokenVariable: QUOTES_ONE }\n",
    "is the same account as one: their access token is the same",
  ],
  [
    "an address and no service that has one",
    "  - { name: one, consumerKeyVariable: QUOTES_ONE, consumerSecretVariable: QUOTES_ONE, accessTokenVariable: QUOTES_ONE, accessTokenSecretVariable: QUOTES_ONE }\n",
    "has no baseUrl",
  ],
])("accounts.yaml with %s is refused", async (_, text, expected) => {
  const { dir, config } = settings({ QUOTES_ONE: "a token" }, { "accounts.yaml": `accounts:\n${text}` });

  const { problems } = await readAccounts(dir, config);

  expect(problems.map(({ message }) => message).join("\n")).toContain(expected);
});

test("an option of a variable is the same for an account of accounts.yaml as for the only account, and a wrong one is refused with or without the file", async () => {
  const keys = { QUOTES_ALPACA_KEY_ID: "a key", QUOTES_ALPACA_SECRET_KEY: "a secret" };
  const env = { QUOTES_SERVICE: "alpaca", ...keys };
  const file = `accounts: [{ name: one, keyIdVariable: QUOTES_ALPACA_KEY_ID, secretKeyVariable: QUOTES_ALPACA_SECRET_KEY }]`;
  const optionsOf = async (given: Record<string, string>, files: Record<string, string>) => {
    const { dir, config } = settings({ ...env, ...given }, files);
    const { accounts, problems } = await readAccounts(dir, config);
    return { problems, options: accounts.map(({ feed }) => feed.kind === "account" && feed.options) };
  };
  const given = { QUOTES_ALPACA_TRADING_URL: "https://api.alpaca.markets/", QUOTES_ALPACA_STOCK_FEED: "iex" };
  const wrong = { QUOTES_ALPACA_TRADING_URL: "https://api.alpaca.markets/v2?key=1" };
  const both: Record<string, string>[] = [{}, { "accounts.yaml": file }];

  const found = await Promise.all(both.map((files) => optionsOf(given, files)));
  const refused = both.map((files) => () => settings({ ...env, ...wrong }, files));

  const options = [{ tradingUrl: "https://api.alpaca.markets", stockFeed: "iex" }];
  expect(found).toEqual([
    { problems: [], options },
    { problems: [], options },
  ]);
  for (const load of refused)
    expect(load).toThrow(
      /CONFIG_INVALID.*\n.*QUOTES_ALPACA_TRADING_URL: expected an address without query and fragment/,
    );
});

test("whatever a job says, quotes of the sandbox are asked for and kept as delayed ones, and those of production as real-time ones", async () => {
  const job = { "us.yaml": 'name: us\nschedule: "* * * * *"\nsession: always\nsymbols: [AAPL]\n' };
  const jobsOf = async (env: Record<string, string>) => {
    const { dir, config } = settings(env, job);
    return { job: (await readJobs(dir, config)).jobs[0], only: onlyDelayed(config) };
  };

  const [sandbox, production, reference] = [
    await jobsOf({ ...TOKEN, QUOTES_BASE_URL: SANDBOX }),
    await jobsOf(TOKEN),
    await jobsOf({}),
  ];

  expect(
    [sandbox, production, reference].map(({ job: read, only }) => [read?.delayed, only, read?.optionsInList]),
  ).toEqual([
    [true, true, true],
    [false, false, true],
    [false, null, undefined],
  ]);
});
