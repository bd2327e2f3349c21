/** Somebody who may write job files and accounts.yaml, and wants other files and variables: each attack with a real listener. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "@jest/globals";
import { run } from "../cli/edges.ts";
import { accountVariables, accountYaml } from "../support/accounts.ts";
import { closedPort, startStubService, type StubService } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";

const SHADOW = "root:*:20228:0:99999:7:::\ndaemon:*:20228:0:99999:7:::\n";
/** What stands in files and variables that are not the writer's. One word: by its form it may be a symbol. */
const SECRET = "HUNTER2CANARY";
const SCHEDULE = 'schedule: "* * * * *"\n';

let listener: StubService;
let databaseUrl: string;
/** A home with a jobs directory, secrets beside it, and a directory of accounts' secrets. */
let home: string;

beforeAll(async () => {
  listener = await startStubService({ status: 401, body: "Not authorized" });
  // Polls go without the database: it is named for its password alone.
  databaseUrl = `postgresql://keeper:${SECRET}@127.0.0.1:${await closedPort()}/quotes`;
});

beforeEach(() => {
  home = tempDir();
  for (const name of ["jobs", "jobs/lists", "secrets"]) mkdirSync(join(home, name));
  write("secret.pem", SECRET);
  write("secrets/key", "the account's key");
  write("secrets/web_token", `${SECRET}-of-the-page`);
  listener.requests.length = 0;
});

function write(name: string, text: string): void {
  writeFileSync(join(home, name), text, { mode: 0o600 });
}

function settings(more: Record<string, string> = {}): Record<string, string> {
  return {
    ...{ DATABASE_URL: databaseUrl, QUOTEKEEPER_DATA_DIR: join(home, "data") },
    ...{ QUOTEKEEPER_JOBS_DIR: join(home, "jobs"), QUOTES_MAIN_KEY: "key", ...accountVariables("main") },
    ...more,
  };
}

/** What the listener heard: addresses and headers of all calls. */
function heard(): string {
  return JSON.stringify(listener.requests);
}

/** What `jobs check` says of a job with this list. */
async function checked(list: string, more: Record<string, string> = {}): Promise<string> {
  write("jobs/a.yaml", `name: a\n${SCHEDULE}symbolsFile: ${list}\n`);
  const { stdout, stderr } = await run(["jobs", "check"], settings(more));
  return `${stdout}${stderr}`;
}

test("a list of symbols outside the jobs directory is not read: by its path, by a link, or by a link in its path", async () => {
  symlinkSync(join(home, "secret.pem"), join(home, "jobs/link.txt"));
  symlinkSync(home, join(home, "jobs/elsewhere"));

  for (const list of [
    ...[join(home, "secret.pem"), "../secret.pem", "lists/../../secret.pem"],
    ...["link.txt", "elsewhere/secret.pem", "/etc/shadow", "/proc/self/environ", "/dev/zero"],
  ]) {
    const told = await checked(list);

    expect(told).toContain("a.yaml:3: symbolsFile");
    expect(told).toContain("cannot be read (outside the jobs directory: move it there)");
    expect(told).not.toContain(SECRET);
  }
});

test("the error about a list of symbols outside the jobs directory does not say whether the file exists", async () => {
  const [there, nowhere] = [await checked("../secret.pem"), await checked("../nowhere.pem")];

  expect(nowhere).toBe(there.replaceAll("secret.pem", "nowhere.pem"));
});

test("a list of symbols below the jobs directory is read, also by a link inside of it, and where the directory itself is a link", async () => {
  write("jobs/lists/large.txt", "AAPL\nBRK.B\n");
  symlinkSync("lists/large.txt", join(home, "jobs/link.txt"));
  symlinkSync(join(home, "jobs"), join(home, "mounted"));

  for (const list of ["lists/large.txt", "./link.txt", join(home, "jobs/lists/large.txt")]) {
    expect(await checked(list)).toContain("1 job is right");
    expect(await checked(list, { QUOTEKEEPER_JOBS_DIR: join(home, "mounted") })).toContain("1 job is right");
  }
  expect(await checked("lists/none.txt", { QUOTEKEEPER_JOBS_DIR: join(home, "mounted") })).toContain(
    "(ENOENT)",
  );
});

test("a list of symbols cannot be one of the program's own files below the jobs directory", async () => {
  mkdirSync(join(home, "data"));
  write("data/seal.key", SECRET);
  const more = {
    QUOTEKEEPER_JOBS_DIR: home,
    QUOTEKEEPER_WEB_TOKEN_FILE: join(home, "secrets/web_token"),
  };
  for (const list of ["data/seal.key", "secrets/web_token"]) {
    write("a.yaml", `name: a\n${SCHEDULE}symbolsFile: ${list}\n`);
    const { stdout, stderr } = await run(["jobs", "check"], settings(more));

    expect(stderr).toContain("cannot be read (a file of the program's own: ");
    expect(`${stdout}${stderr}`).not.toContain(SECRET);
  }
  mkdirSync(join(home, "data/jobs"));
  write("data/jobs/list", "AAPL");
  write("data/jobs/a.yaml", `name: a\n${SCHEDULE}symbolsFile: list\n`);
  const inData = await run(["jobs", "check"], settings({ QUOTEKEEPER_JOBS_DIR: join(home, "data/jobs") }));

  expect(inData.stdout).toContain("1 job is right");
});

test.each([
  ["shadow", SHADOW],
  [".env", "# the account\nQUOTES_CONSUMER_KEY=abcd1234\n"],
  ["a pgpass", "127.0.0.1:5432:quotes:keeper:hunter2\n"],
  ["JSON", '{"token":"hunter2"}\n'],
])(
  "a list of symbols with lines of %s is refused by jobs and by a sweep, and no line of it is sent",
  async (_name, text) => {
    write("jobs/list.txt", text);
    write("jobs/accounts.yaml", `accounts:\n${accountYaml("main", { baseUrl: listener.baseUrl })}`);

    const told = await checked("list.txt");
    const swept = await run(["backfill", "--symbols-file", join(home, "jobs/list.txt")], settings());

    expect(told).toMatch(/list\.txt:\d: this is no symbol: expected/);
    expect([swept.exitCode, swept.stderr]).toEqual([2, expect.stringMatching(/list\.txt:\d: /)]);
    for (const said of [told, swept.stdout, swept.stderr]) expect(said).not.toMatch(/20228|abcd1234|hunter2/);
    expect(listener.requests).toEqual([]);
  },
);

test("text without the form of a symbol is refused in job files, by `poll` and by `init`, and nothing is sent", async () => {
  write("jobs/accounts.yaml", `accounts:\n${accountYaml("main", { baseUrl: listener.baseUrl })}`);
  for (const text of ["ROOT:*:20228:0:99999:7:::", "KEY=ABCD1234", 'A"B', "A;B", "[A]"]) {
    write("jobs/a.yaml", `name: a\n${SCHEDULE}symbols: ['${text}']\n`);
    const checked = await run(["jobs", "check"], settings());
    const polled = await run(["poll", "--symbols", text], settings());
    const begun = await run(
      ["init", "--yes", "--symbols", text],
      settings({ QUOTEKEEPER_JOBS_DIR: join(home, "new") }),
    );

    expect(checked.stderr).toContain("expected a symbol: 1 to 32 characters without blanks");
    for (const { exitCode, stderr } of [polled, begun])
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("is not a symbol")]);
  }
  expect(listener.requests).toEqual([]);
});

test("a name that an imported file brought along is exported, although it has not the form of a symbol", async () => {
  const argv = ["export", "--format", "csv", "--out", join(home, "out"), "--symbols", "X:BTCUSD"];
  const { stderr } = await run(argv, settings());

  expect(stderr).toMatch(/^DATABASE_UNREACHABLE/m);
});

/** Polls with an account of the listener that is written so. */
async function polled(
  account: Record<string, string | null>,
  more: Record<string, string> = {},
): Promise<{ exitCode: number; said: string }> {
  const yaml = accountYaml("main", { baseUrl: listener.baseUrl, ...account });
  write("jobs/accounts.yaml", `accounts:\n${yaml}`);
  const { exitCode, stdout, stderr } = await run(["poll", "--symbols", "AAPL"], settings(more));
  return { exitCode, said: `${stdout}${stderr}` };
}

const byFile = (path: string) => ({ consumerKeyVariable: null, consumerKeyFile: path });

test("accounts.yaml makes nobody send a file from outside the jobs directory: by its path, by a link, or by a link in its path", async () => {
  symlinkSync(join(home, "secret.pem"), join(home, "jobs/link.pem"));
  symlinkSync(home, join(home, "jobs/elsewhere"));

  for (const path of [
    ...["../secret.pem", join(home, "secret.pem"), "link.pem", "elsewhere/secret.pem"],
    ...["/etc/shadow", "/proc/self/environ", "../nowhere.pem"],
  ]) {
    const { exitCode, said } = await polled(byFile(path));

    expect(exitCode).toBe(2);
    expect(said).toContain(
      "accounts.yaml:7: accounts[0].consumerKeyFile names a file that cannot be read (outside the jobs directory: move it there, or set QUOTEKEEPER_SECRETS_DIR",
    );
    expect(said).not.toContain(SECRET);
  }
  expect(heard()).toBe("[]");
});

test("accounts.yaml makes nobody send a variable that is not an account's by its name, such as DATABASE_URL", async () => {
  for (const name of ["DATABASE_URL", "QUOTEKEEPER_WEB_TOKEN", "HOME_TOKEN"]) {
    const { exitCode, said } = await polled(
      { accessTokenVariable: name },
      { QUOTEKEEPER_WEB_TOKEN: SECRET.padEnd(16, "x"), HOME_TOKEN: SECRET },
    );

    expect(exitCode).toBe(2);
    expect(said).toContain(
      "accounts.yaml:6: accounts[0].accessTokenVariable names a variable that does not begin with QUOTES_: rename it here and where it is set",
    );
    expect(said).not.toContain(SECRET);
  }
  expect(heard()).toBe("[]");
});

test("accounts.yaml may name files of QUOTEKEEPER_SECRETS_DIR, but none that the settings name for something else", async () => {
  const more = {
    QUOTEKEEPER_SECRETS_DIR: join(home, "secrets"),
    QUOTEKEEPER_WEB_TOKEN_FILE: join(home, "secrets/web_token"),
  };
  symlinkSync("web_token", join(home, "secrets/token"));

  for (const path of ["../secrets/web_token", join(home, "secrets/token")]) {
    const { exitCode, said } = await polled(byFile(path), more);
    expect([exitCode, said]).toEqual([2, expect.stringContaining("(a file of the program's own: ")]);
  }
  expect((await polled(byFile("../secret.pem"), more)).said).toContain(
    "outside the jobs directory and QUOTEKEEPER_SECRETS_DIR",
  );
  expect(heard()).toBe("[]");
  await polled(byFile(join(home, "secrets/key")), more);

  expect(listener.requests.map(({ headers }) => headers.authorization)).toContainEqual(
    expect.stringContaining('oauth_consumer_key="the%20account%27s%20key"'),
  );
});

test("accounts.yaml leads to no other service than QUOTES_BASE_URL, where that is set", async () => {
  const set = {
    ...{ QUOTES_BASE_URL: "https://api.broker.example", QUOTES_CONSUMER_KEY: SECRET },
    ...{ QUOTES_CONSUMER_SECRET: SECRET, QUOTES_ACCESS_TOKEN: SECRET, QUOTES_ACCESS_TOKEN_SECRET: SECRET },
  };
  const named = {
    ...{ consumerKeyVariable: "QUOTES_CONSUMER_SECRET", consumerSecretVariable: "QUOTES_CONSUMER_SECRET" },
    ...{
      accessTokenVariable: "QUOTES_ACCESS_TOKEN",
      accessTokenSecretVariable: "QUOTES_ACCESS_TOKEN_SECRET",
    },
  };
  const alone = await polled(named, set);
  const own = accountYaml("own", { ...named, baseUrl: "https://api.broker.example" });
  const another = accountYaml("main", { baseUrl: listener.baseUrl });
  write("jobs/accounts.yaml", `accounts:\n${own}${another}`);
  const beside = await run(["poll", "--account", "main", "--symbols", "AAPL"], settings(set));

  expect(alone).toEqual({ exitCode: 2, said: expect.stringContaining("its account is none of these") });
  expect([beside.exitCode, beside.stderr]).toEqual([2, expect.stringContaining("all accounts are of one")]);
  expect(heard()).toBe("[]");
});
