/** The commands that look ahead and back: plan, calendar, coverage. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import type { z } from "zod";
import type { coverage } from "../../src/cli/coverage.ts";
import type { plan } from "../../src/cli/plan.ts";
import { widthOf } from "../../src/cli/terminal/width.ts";
import { runProgram } from "../../src/cli/program.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import type { SlotEntry } from "../../src/journal/ledger.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { capturedEdges, type Outcome } from "./edges.ts";

type CoverageJson = z.infer<typeof coverage.json>;
type PlanJson = z.infer<typeof plan.json>;

const database = await freshDatabase();

/** Runs a command on Friday 20 November 2026 at 17:50 New York, in the post-market, with these job files. */
async function run(
  argv: string[],
  jobs: Record<string, string> = {},
  columns = 80,
  accounts = "1",
): Promise<Outcome> {
  const dir = tempDir();
  for (const [name, text] of Object.entries(jobs)) writeFileSync(join(dir, name), text);
  const env = {
    DATABASE_URL: database.url,
    QUOTEKEEPER_JOBS_DIR: dir,
    QUOTEKEEPER_DATA_DIR: tempDir(),
    QUOTEKEEPER_SIMULATED_ACCOUNTS: accounts,
  };
  const { edges, stdout, stderr } = capturedEdges({ env, clock: createTestClock() });
  edges.stdout.columns = columns;
  const exitCode = await runProgram(argv, edges);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

const EQUITIES = 'name: equities\nschedule: "* * * * *"\npriority: 5\nsymbols: [AAPL, GE, KO]\n';

/** A job of option contracts with the strikes 1 to `count`. */
function optionsJob(count: number, name = "options", schedule = "* * * * *"): string {
  const contracts = Array.from(
    { length: count },
    (_, index) => `  - { underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: ${index + 1} }`,
  );
  return `name: ${name}\nschedule: "${schedule}"\noptions:\n${contracts.join("\n")}\n`;
}

function widest(text: string): number {
  return Math.max(...text.split("\n").map(widthOf));
}

test("plan shows the session's calls by hour, the batches, and that they fit", async () => {
  const { exitCode, stdout } = await run(["plan"], { "a.yaml": EQUITIES, "b.yaml": optionsJob(2) });

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^2026-11-20, hours of New York\. The limit is 60 calls in 60 s\./);
  expect(stdout).toMatch(/09:00 +30 +90 +3\n10:00 +60 +180 +3/);
  expect(stdout).toContain("The fullest slot makes 3 calls, a pass of 3 s:\n  AAPL, GE, KO\n");
  expect(stdout).toMatch(/equities +390 +3 +1,170 +0 +0\.0 %/);
  expect(stdout).toContain("It fits. The shortest interval at which it would: 3 s.");
  expect(stdout).toMatch(/The simulated market never closes; the plan is that of the exchange's hours\.\n$/);
  expect(widest(stdout)).toBeLessThanOrEqual(100);
});

test("plan says which jobs starve and by how much, and the shortest interval that fits; exit code 1", async () => {
  const { exitCode, stdout } = await run(["plan"], { "a.yaml": EQUITIES, "b.yaml": optionsJob(118) });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/equities .* 0\.0 %/);
  expect(stdout).toMatch(/options +390 +118 +46,020 +23,010 +50\.0 %/);
  expect(stdout).toContain("To ask everything once takes 119 s");
  expect(stdout).toContain(
    "OVER BUDGET: options would starve. The shortest interval that fits: a slot every 2 min.",
  );
});

test("the plan of as many calls as the limit has says that not all of them are reached, and what to do", async () => {
  const { exitCode, stdout } = await run(["plan"], { "b.yaml": optionsJob(60) });

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/It fits on paper alone.*\n99 % are reached: about \d+ of 23,400 quotes/s);
  expect(stdout).toMatch(/would be missed over the day\.\nLeave a call or two of each window free/);
  expect(widest(stdout)).toBeLessThanOrEqual(80);
});

test("the plan of a day without a session says why no job is due", async () => {
  const { exitCode, stdout } = await run(["plan", "--date", "2026-11-26"], { "a.yaml": EQUITIES });

  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^No job is due on 2026-11-26 \(closed: .*Thanksgiving.*\)\.\nThe simulated market never closes;.*\n$/,
    ),
  });
});

test("plan says which chains it cannot count, because the archive has no price", async () => {
  const chain =
    'name: c\nschedule: "* * * * *"\nchains:\n  - underlying: ZION\n    expirations: { next: 1 }\n    strikes: { around: last, percent: 5, step: 5 }\n';

  const { exitCode, stdout, stderr } = await run(["plan"], { "c.yaml": chain });
  const json = await run(["plan", "--json"], { "c.yaml": chain });

  expect([exitCode, json.exitCode]).toEqual([1, 1]);
  expect(stdout).toContain("NOT KNOWN: 1 chain has no price yet.");
  expect(stdout).not.toContain("It fits");
  expect(JSON.parse(json.stdout)).toMatchObject({ fits: null, priceless: ["ZION"] });
  expect(stderr).toContain(
    "Not counted: the chains of ZION, whose strikes depend on a last price that is not stored yet.",
  );
});

const planned = async (contracts: number, accounts: string) => {
  const jobs = { "a.yaml": EQUITIES, "b.yaml": optionsJob(contracts) };
  const [text, json] = [
    await run(["plan"], jobs, 80, accounts),
    await run(["plan", "--json"], jobs, 80, accounts),
  ];
  return { ...text, json: JSON.parse(json.stdout) as PlanJson, exitCodes: [text.exitCode, json.exitCode] };
};

test("the plan of several accounts says what each calls, what would starve, and what one more account would change", async () => {
  const { stdout, json, exitCodes } = await planned(190, "3");

  expect(exitCodes).toEqual([1, 1]);
  expect(stdout).toMatch(/^2026-11-20, hours of New York\. The limits of 3 accounts are 180 calls in 60 s\./);
  expect(stdout).toContain("The fullest slot makes 191 calls, a pass of 64 s.\n");
  expect(stdout).toMatch(/^simulated-3 +60 in 60 s +6\d +6\d s +2\d,\d{3} +options$/m);
  expect(stdout).toContain("\nWith one more account of 60 calls a minute it would fit.\n");
  expect(json.withOneMore).toMatchObject({ fits: true, starving: [] });
  const sum = (counts: number[]): number => counts.reduce((total, each) => total + each, 0);
  expect(sum(json.accounts.map(({ callsPerPass }) => callsPerPass))).toBe(191);
  expect(sum(json.accounts.map(({ callsADay }) => callsADay))).toBe(191 * 390);
  expect(json.jobs).toMatchObject([
    { job: "equities", slots: 390, instruments: 3, due: 1_170 },
    { job: "options", slots: 390, instruments: 190, due: 190 * 390 },
  ]);
});

test("a plan of several accounts that fits says how much shorter a pass would be with one more; of one account it says nothing", async () => {
  const { stdout, json, exitCodes } = await planned(119, "2");
  const one = await planned(59, "1");

  expect(exitCodes).toEqual([0, 0]);
  expect(json).toMatchObject({ limit: 120, fits: true, unasked: [], passMs: 60_000 });
  expect(stdout).toContain("\nWith one more account of 60 calls a minute a pass takes 40 s, not 60 s.\n");
  expect(widest(stdout)).toBeLessThanOrEqual(80);
  expect(one.stdout).not.toContain("account");
  expect(one.json).toMatchObject({
    withOneMore: null,
    accounts: [{ name: "default", callsPerPass: 60, fits: true }],
  });
});

test("calendar shows New York's times and says so: nine thirty is nine thirty all year", async () => {
  const { stdout } = await run(["calendar", "--from", "2026-07-02", "--to", "2026-11-27"]);

  expect(stdout).toMatch(/^Date +Kind +Pre \(New York\) +Open +Close +Post +Reason$/m);
  expect(stdout).toMatch(/^2026-07-02 +regular +04:00 +09:30 +16:00 +20:00$/m);
  expect(stdout).toMatch(/^2026-11-20 +regular +04:00 +09:30 +16:00 +20:00$/m);
  expect(stdout).toMatch(/^2026-11-27 +early +04:00 +09:30 +13:00 +17:00/m);
});

test("calendar has the operator's own days", async () => {
  const overrides = "overrides:\n  - { date: 2026-11-20, kind: closed, reason: a storm }\n";

  const { stdout } = await run(["calendar", "--from", "2026-11-19", "--to", "2026-11-20", "--closed"], {
    "a.yaml": EQUITIES,
    "calendar.yaml": overrides,
  });

  expect(stdout).toMatch(/2026-11-19 +regular/);
  expect(stdout).toMatch(/2026-11-20 +closed .*a storm/);
});

test("calendar without dates lists the sessions of the coming month", async () => {
  const { stdout } = await run(["calendar", "--json"]);

  const dates = (JSON.parse(stdout) as { date: string }[]).map(({ date }) => date);
  expect([dates.at(0), dates.at(-1), dates.length]).toEqual(["2026-11-20", "2026-12-18", 20]);
});

test.each([
  ["a date before 1990", ["--from", "1989-12-29", "--to", "1990-01-02"]],
  ["dates in the wrong order", ["--from", "2026-11-20", "--to", "2026-11-19"]],
])("calendar: %s is wrong usage, exit code 2", async (_title, dates) => {
  expect((await run(["calendar", ...dates])).exitCode).toBe(2);
});

async function ledger(...entries: SlotEntry[]): Promise<void> {
  await database.pool.query("truncate slots, misses, due_sets cascade");
  await inTransaction(database.pool, (client) => insertLedger(client, [{ type: "slots", entries }]));
}

const slotAt = (text: string): string => instantFromDate(new Date(text));
const range = ["--from", "2026-11-19", "--to", "2026-11-20"];

test("coverage shows a heat line a day and the worst instruments first, within its width, with every reason; exit code 1", async () => {
  const option = "BRK.B:2026-12-18:CALL:1500.5";
  const due = ["AAPL", "GE", "KO", option];
  await ledger(
    { job: "list", slotAt: slotAt("2026-11-19T14:30:00Z"), due, misses: [] },
    {
      job: "list",
      slotAt: slotAt("2026-11-20T14:30:00Z"),
      due,
      misses: [
        ["GE", "budget"],
        [option, "unknown_symbol"],
      ],
    },
    { job: "list", slotAt: slotAt("2026-11-20T14:31:00Z"), due, misses: [[option, "absent_from_answer"]] },
    { job: "list", slotAt: slotAt("2026-11-20T14:32:00Z"), due, misses: [[option, "unauthorized"]] },
  );

  const { exitCode, stdout } = await run(["coverage", ...range]);

  const lines = stdout.split("\n");
  expect(exitCode).toBe(1);
  expect(lines[0]).toBe("2026-11-19 [@@@@] 100.0 % of 4");
  expect(lines[1]).toBe("2026-11-20 [@ *@] 66.7 % of 12");
  expect(lines[4]).toMatch(/^2026-11-20 +BRK\.B:2026-12-18:CALL:1500\.5 +0 of 3 +\w+ 1/);
  expect(lines.slice(4).join(" ").replace(/\s+/g, " ")).toMatch(
    / 0 of 3 unauthorized 1, unknown_symbol 1, absent_from_answer 1 2026-11-20 GE 2 of 3 budget 1/,
  );
  expect(widest(stdout)).toBeLessThanOrEqual(80);
});

test("coverage of several accounts says what was due to each; with --account it says what was due to that one", async () => {
  const [first, next] = [slotAt("2026-11-20T14:30:00Z"), slotAt("2026-11-20T14:31:00Z")];
  await ledger(
    // GE moves from the one to the other.
    { job: "list", slotAt: first, due: ["AAPL", "GE"], misses: [["GE", "budget"]] },
    { job: "list", slotAt: first, account: "second", due: ["KO"], misses: [] },
    { job: "list", slotAt: next, due: ["AAPL"], misses: [] },
    { job: "list", slotAt: next, account: "second", due: ["GE", "KO"], misses: [["GE", "unauthorized"]] },
  );
  const json = async (...more: string[]) =>
    JSON.parse((await run(["coverage", ...range, "--json", ...more])).stdout) as CoverageJson;

  const { stdout } = await run(["coverage", ...range]);
  const all = await json();
  const second = await json("--account", "second");
  const text = await run(["coverage", ...range, "--account", "second"]);
  const nobody = await run(["coverage", ...range, "--account", "nobody"]);

  expect(stdout).toMatch(/^default +3 +2 +1 +budget 1\nsecond +3 +2 +1 +unauthorized 1\n\nDate/m);
  const part = { expected: 1, stored: 0, missed: 1 };
  expect(all.find(({ instrument }) => instrument === "GE")).toEqual({
    ...{ date: "2026-11-20", source: "account", instrument: "GE", expected: 2, stored: 0, missed: 2 },
    reasons: { budget: 1, unauthorized: 1 },
    accounts: [
      { name: "default", ...part, reasons: { budget: 1 } },
      { name: "second", ...part, reasons: { unauthorized: 1 } },
    ],
  });
  for (const row of all)
    expect(row.accounts?.reduce((sum, { expected }) => sum + expected, 0)).toBe(row.expected);
  expect(second.map(({ instrument, stored, expected }) => `${instrument} ${stored}/${expected}`)).toEqual([
    "GE 0/1",
    "KO 2/2",
  ]);
  expect(text.stdout).toMatch(/^2026-11-20 \[ @\] 66.7 % of 3\n\nDate/);
  expect(nobody).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^ACCOUNT_UNKNOWN: .*default, second, and no nobody/),
  });
});

const LONG = "日本株日本株日本株日本株:2026-12-18:CALL:123456.5";

test.each<[string, string[], SlotEntry["misses"], number, RegExp]>([
  [
    "sixty instruments",
    symbols(60),
    [],
    80,
    /^2026-11-20 \[@+\] 100\.0 % of 60\n\nEverything that was due is/,
  ],
  ["sixty instruments", symbols(60), [], 50, /^2026-11-20 \[@+\] 100\.0 % of 60\n/],
  ["sixty instruments", symbols(60), [], 40, /^2026-11-20 \[@+\] 100\.0 % of 60\n/],
  ["500 instruments", symbols(500), [["S1", "down"]], 80, /^2026-11-20 \[[%@]{40,48}\] 99\.8 % of 500\n/],
  [
    "an instrument with wide characters and a long name",
    [LONG, "GE"],
    [
      [LONG, "absent_from_answer"],
      ["GE", "budget"],
    ],
    80,
    /GE +0 of 1 +budget 1/,
  ],
])(
  "coverage of %s stays within its columns, and its heat line shows all of them",
  async (_what, due, misses, columns, shown) => {
    await ledger({ job: "list", slotAt: slotAt("2026-11-20T14:30:00Z"), due, misses });

    const { exitCode, stdout } = await run(["coverage", ...range], {}, columns);

    expect(exitCode).toBe(misses.length === 0 ? 0 : 1);
    expect(stdout).toMatch(shown);
    expect(widest(stdout)).toBeLessThanOrEqual(columns);
  },
);

function symbols(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `S${index}`);
}

test("coverage without dates shows the week up to New York's today", async () => {
  await ledger(
    { job: "list", slotAt: slotAt("2026-11-13T20:00:00Z"), due: ["GE"], misses: [] },
    { job: "list", slotAt: slotAt("2026-11-16T20:00:00Z"), due: ["GE"], misses: [] },
    { job: "list", slotAt: slotAt("2026-11-20T20:00:00Z"), due: ["GE"], misses: [] },
  );

  const { stdout } = await run(["coverage"]);

  expect(stdout.match(/^2026-11-\d\d/gm)).toEqual(["2026-11-16", "2026-11-20"]);
});

test("coverage of days without a slot says so, and which day it is in New York", async () => {
  await ledger();

  const { exitCode, stdout } = await run(["coverage", "--from", "2026-11-21", "--to", "2026-11-21"]);

  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    "no slot from 2026-11-21 to 2026-11-21. Days are New York's, where it is 2026-11-20.",
  );
});

test("coverage without an archive makes none, and says what to do, also of a database that was never migrated", async () => {
  const dataDir = join(tempDir(), "data");
  const { url } = await freshDatabase({ migrated: false });

  for (const env of [{ QUOTEKEEPER_DATA_DIR: dataDir }, { DATABASE_URL: url }]) {
    const { edges, stderr } = capturedEdges({ env });

    expect(await runProgram(["coverage"], edges)).toBe(1);
    expect(stderr()).toMatch(/^ARCHIVE_EMPTY: .* holds no archive yet\. .*quotekeeper start/);
  }
  expect(existsSync(dataDir)).toBe(false);
});
