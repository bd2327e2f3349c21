/** Job files that change while the program runs. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { loadConfig } from "../../src/config/loadEnvironment.ts";
import { followJobs, type JobSet } from "../../src/schedule/followJobs.ts";
import { readJobs } from "../../src/schedule/readJobs.ts";
import { accountVariables, accountYaml } from "../support/accounts.ts";
import { tempDir } from "../support/tempDir.ts";

const GE_JOB = 'name: list\nschedule: "* * * * *"\nsymbols: [GE]\n';

let dir = "";
let taken: JobSet[] = [];
let said: string[] = [];
/** Whether nothing can be taken up. */
let held = false;
let stop: () => void = () => undefined;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "clearImmediate"] });
  dir = join(tempDir(), "jobs");
  mkdirSync(join(dir, "below"), { recursive: true });
  taken = [];
  said = [];
  held = false;
});

afterEach(() => {
  stop();
  jest.useRealTimers();
});

function write(name: string, text: string): void {
  writeFileSync(join(dir, name), text);
}

/** Begins to follow the files as they are now. */
async function follow(variables: Record<string, string> = {}): Promise<void> {
  const settings = loadConfig(variables, tempDir());
  const say = (_fields: object, message: string) => void said.push(message);
  stop = followJobs(dir, {
    first: (await readJobs(dir, settings)) as unknown as JobSet,
    settings,
    onJobs: async (jobs) => {
      if (held) throw new Error("another collector has the account");
      taken.push(jobs);
    },
    log: { debug: say, info: say, warn: say, error: say },
  });
  await look();
}

/** The time of one look passes, and the files are read. */
async function look(): Promise<void> {
  jest.advanceTimersByTime(2_000);
  // Files are read beside the clock: it has been done once no operation is under way, nor follows on the one before.
  for (let idle = 0; idle < 3; idle += 1) {
    await new Promise(setImmediate);
    if (process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name))) idle = 0;
  }
}

function symbolsTaken(): (readonly string[])[] {
  return taken.flatMap(({ jobs }) => jobs.map(({ symbols }) => symbols));
}

test("a job file that is written is in force, and nothing is logged while no file changes", async () => {
  write("list.yaml", GE_JOB);
  await follow();
  await look();
  expect(said).toEqual([]);

  write("list.yaml", GE_JOB.replace("GE", "GE, KO"));
  await look();

  expect(symbolsTaken()).toEqual([["GE", "KO"]]);
  expect(said).toEqual([expect.stringContaining("in force from the next slot on")]);
});

test("a job file that is added or removed changes the jobs", async () => {
  write("list.yaml", GE_JOB);
  await follow();

  write("more.yaml", GE_JOB.replace("list", "more"));
  await look();
  rmSync(join(dir, "list.yaml"));
  await look();

  expect(taken.map(({ jobs }) => jobs.map(({ name }) => name))).toEqual([["list", "more"], ["more"]]);
});

test("a broken job file keeps the old jobs and is logged with file, line and reason; mended, it is in force", async () => {
  write("list.yaml", GE_JOB);
  await follow();

  write("list.yaml", GE_JOB.replace("* * * * *", "every minute"));
  await look();
  expect(taken).toEqual([]);
  expect(said).toEqual([expect.stringMatching(/jobs before stay in force[^]*list\.yaml:2[^]*every minute/)]);

  write("list.yaml", GE_JOB.replace("GE", "IBM"));
  await look();
  expect(symbolsTaken()).toEqual([["IBM"]]);
});

test("a job file with a schedule that is never due is logged once, and the other files are in force", async () => {
  write("list.yaml", GE_JOB);
  await follow();

  write("never.yaml", GE_JOB.replace("list", "never").replace("* * * * *", "0 3 * * *"));
  await look();
  write("list.yaml", GE_JOB.replace("GE", "IBM"));
  await look();

  expect(symbolsTaken()).toEqual([["IBM"]]);
  expect(said).toEqual([
    expect.stringMatching(/never due[^]*never\.yaml:2/),
    expect.stringContaining("in force from the next slot on"),
  ]);
});

test("a job file that was broken and is as before again is logged to be right", async () => {
  write("list.yaml", GE_JOB);
  await follow();
  write("list.yaml", "name: [");
  await look();

  write("list.yaml", GE_JOB);
  await look();

  expect(taken).toEqual([]);
  expect(said.at(-1)).toContain("right again");
});

test("the old jobs stay when the last job file of the directory is removed", async () => {
  write("list.yaml", GE_JOB);
  await follow();

  rmSync(join(dir, "list.yaml"));
  await look();

  expect(taken).toEqual([]);
  expect(said).toEqual([expect.stringContaining("holds no job file any more")]);
});

test("a job file that changed between the reading and the first look is not overlooked", async () => {
  write("list.yaml", GE_JOB);
  const following = follow();
  write("list.yaml", GE_JOB.replace("GE", "KO"));
  await following;
  await look();

  expect(said.length).toBeLessThanOrEqual(1);
  expect(
    symbolsTaken()
      .flat()
      .filter((symbol) => symbol !== "KO"),
  ).toEqual([]);
});

test("what cannot be taken up yet is tried at each look, and told once for each change", async () => {
  write("list.yaml", GE_JOB);
  await follow();
  held = true;

  write("list.yaml", GE_JOB.replace("GE", "KO"));
  await look();
  await look();
  expect(taken).toEqual([]);
  expect(said).toEqual([expect.stringContaining("cannot be taken up yet")]);

  held = false;
  await look();
  expect(symbolsTaken()).toEqual([["KO"]]);

  held = true;
  write("list.yaml", GE_JOB.replace("GE", "IBM"));
  await look();
  await look();
  expect(said.filter((line) => line.includes("cannot be taken up yet"))).toHaveLength(2);
});

test("a list of symbols in a directory below is looked at as well", async () => {
  write("list.yaml", 'name: list\nschedule: "* * * * *"\nsymbolsFile: below/symbols.txt\n');
  write("below/symbols.txt", "GE\n");
  await follow();

  write("below/symbols.txt", "GE\nKO\n");
  await look();

  expect(symbolsTaken()).toEqual([["GE", "KO"]]);
});

test("the operator's calendar counts as well", async () => {
  write("list.yaml", GE_JOB);
  await follow();

  write("calendar.yaml", 'overrides:\n  - { date: 2026-11-20, kind: closed, reason: "a storm" }\n');
  await look();

  expect(taken.map(({ calendar }) => calendar)).toEqual([
    [expect.objectContaining({ date: "2026-11-20", kind: "closed" })],
  ]);
});

describe("accounts.yaml", () => {
  const VARIABLES = accountVariables("main", "second");

  /** Two accounts, the token of the second in a file of a directory below. */
  function writeTwo(): void {
    const second = accountYaml("second", { accessTokenVariable: null, accessTokenFile: "below/token" });
    write("accounts.yaml", `accounts:\n${accountYaml("main")}${second}`);
  }

  function writeToken(token: string): void {
    writeFileSync(join(dir, "below/token"), token, { mode: 0o600 });
  }

  function tokensTaken(): unknown[] {
    return taken.map(({ accounts }) =>
      accounts.map(({ feed }) => feed.kind === "account" && feed.credentials.accessToken),
    );
  }

  test("an account of accounts.yaml changes when its secret's file does, and the log does not show the secret", async () => {
    write("list.yaml", GE_JOB);
    writeTwo();
    writeToken("an old token");
    await follow(VARIABLES);

    writeToken("a new token");
    await look();

    expect(tokensTaken()).toEqual([["main's accessToken", "a new token"]]);
    expect(said).toEqual([expect.stringContaining("in force from the next slot on")]);
  });

  test("a feed that is changed in accounts.yaml is in force", async () => {
    const withFeed = (feed: string): string =>
      `accounts: [{ name: main, service: alpaca, stockFeed: ${feed}, keyIdVariable: QUOTES_KEY, secretKeyVariable: QUOTES_SECRET }]\n`;
    write("list.yaml", GE_JOB);
    write("accounts.yaml", withFeed("iex"));
    await follow({ QUOTES_KEY: "a key", QUOTES_SECRET: "a secret" });

    write("accounts.yaml", withFeed("sip"));
    await look();

    expect(taken.map(({ accounts }) => accounts.map(({ feed }) => feed))).toMatchObject([
      [{ options: { stockFeed: "sip" } }],
    ]);
    expect(said).toEqual([expect.stringContaining("in force from the next slot on")]);
  });

  test("a missing secret's file that accounts.yaml names is logged once, and is right as soon as it is there", async () => {
    write("list.yaml", GE_JOB);
    write("accounts.yaml", `accounts:\n${accountYaml("main")}`);
    await follow(VARIABLES);

    writeTwo();
    await look();
    await look();
    expect(said).toEqual([expect.stringMatching(/jobs before stay in force[^]*cannot be read \(ENOENT\)/)]);

    writeToken("a token");
    await look();
    expect(tokensTaken()).toEqual([["main's accessToken", "a token"]]);
  });

  test("the accounts before go on until the next start when accounts.yaml is removed or names another service", async () => {
    write("list.yaml", GE_JOB);
    write("accounts.yaml", `accounts:\n${accountYaml("main")}`);
    await follow(VARIABLES);

    rmSync(join(dir, "accounts.yaml"));
    await look();
    write("accounts.yaml", `accounts:\n${accountYaml("main", { baseUrl: "https://other.example" })}`);
    await look();

    expect(taken).toEqual([]);
    expect(said).toEqual([
      expect.stringContaining("are now of the simulated market, and https://api.broker.example is polled"),
      expect.stringContaining("are now of https://other.example"),
    ]);
  });
});
