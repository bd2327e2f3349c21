import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { dirWith } from "../support/tempDir.ts";
import { run } from "./edges.ts";

const GOOD = `name: good
schedule: "* * * * *"
priority: 5
symbols: [AAPL, MSFT]
options: [{ underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: 150 }]
`;

function check(dir: string, ...flags: string[]) {
  return run(["jobs", "check", ...flags], { QUOTEKEEPER_JOBS_DIR: dir });
}

test("jobs check lists right jobs with what they poll, exit code 0", async () => {
  const { exitCode, stdout, stderr } = await check(dirWith({ "good.yaml": GOOD }));

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^Job +Schedule +Session +Account +Priority +Symbols +Options +Chains$/m);
  expect(stdout).toMatch(/^good +\* \* \* \* \* +regular +any +5 +2 +1 +0$/m);
  expect(stdout).toContain("1 job is right, 0 problems found.");
  expect(stdout).not.toMatch(/^Account/m);
});

test("jobs check names every problem of every file with file and line, exit code 2", async () => {
  const dir = dirWith({
    "bad.yaml": `name: bad\nschedule: "* * *"\nsession: noon\nsymbols: [AAPL]\n`,
    "good.yaml": GOOD,
    "worse.yaml": "symbols: [AAPL\n",
  });

  const { exitCode, stdout, stderr } = await check(dir);

  expect(exitCode).toBe(2);
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(`^${dir}/bad\\.yaml:2: schedule is `),
    expect.stringMatching(`^${dir}/bad\\.yaml:3: session is noon: expected `),
    expect.stringMatching(`^${dir}/worse\\.yaml:[12]: this is not YAML: `),
  ]);
  expect(stdout).toContain("1 job is right, 3 problems found.");
});

test.each(["0 16 * * MON-FRI", "0 3 * * *", "0 10 * * SAT"])(
  "a job that would never poll (%s) is no right job: check and plan name its line, exit code 2",
  async (schedule) => {
    const dir = dirWith({
      "never.yaml": `name: never\nschedule: "${schedule}"\nsymbols: [AAPL]\n`,
      "good.yaml": GOOD,
    });

    const checked = await check(dir);
    const planned = await run(["plan"], { QUOTEKEEPER_JOBS_DIR: dir });

    expect(checked).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/never\.yaml:2: .* never due/),
    });
    expect(checked.stdout).toContain("1 job is right, 1 problem found.");
    expect(planned).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/never\.yaml:2: .* never due/),
    });
  },
);

test("jobs check --json prints jobs and problems as one document and nothing else", async () => {
  const dir = dirWith({ "bad.yaml": "name: bad\nsymbols: [AAPL]\n", "good.yaml": GOOD });

  const { exitCode, stdout, stderr } = await check(dir, "--json");

  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    jobs: [{ name: "good", symbols: ["AAPL", "MSFT"] }],
    problems: [
      { file: join(dir, "bad.yaml"), line: 1, message: expect.stringMatching(/^schedule is missing/) },
    ],
  });
});

test("jobs check lists several accounts, and the account that a job is pinned to", async () => {
  const dir = dirWith({
    "good.yaml": GOOD,
    "pinned.yaml": GOOD.replace("good", "pinned\naccount: simulated-2"),
  });
  const env = {
    QUOTEKEEPER_JOBS_DIR: dir,
    QUOTEKEEPER_SIMULATED_ACCOUNTS: "2",
    QUOTES_LIMIT_WINDOW_MS: "1500",
  };

  const text = await run(["jobs", "check"], env);
  const json = await run(["jobs", "check", "--json"], env);

  expect(text.stdout).toMatch(/^pinned +\* \* \* \* \* +regular +simulated-2 +5 +2 +1 +0$/m);
  expect(text.stdout).toMatch(
    /^Account +Service +Limit +Window\ndefault +simulated +60 +1\.5 s\nsimulated-2 /m,
  );
  expect(JSON.parse(json.stdout)).toMatchObject({
    jobs: [
      { name: "good", account: null },
      { name: "pinned", account: "simulated-2" },
    ],
    accounts: [
      { name: "default", baseUrl: null, limit: 60, windowMs: 1500 },
      { name: "simulated-2", baseUrl: null, limit: 60, windowMs: 1500 },
    ],
    problems: [],
  });
});

test("jobs check on a directory without jobs, or on none, ends with exit code 2 and the remedy", async () => {
  const missing = await check("/nowhere/jobs");
  const empty = await check(dirWith({ "calendar.yaml": "overrides: []\n" }));

  expect(missing).toMatchObject({ exitCode: 2, stdout: "" });
  expect(missing.stderr).toMatch(
    /^JOBS_UNREADABLE: .*\/nowhere\/jobs.*`quotekeeper init` .*Set QUOTEKEEPER_JOBS_DIR/,
  );
  expect(empty).toMatchObject({ exitCode: 2, stdout: "" });
  expect(empty.stderr).toMatch(/^JOBS_UNREADABLE: .* holds no job file .*Set QUOTEKEEPER_JOBS_DIR/);
});
