/** What the dashboard tells of job files: real files, a real archive, and the planner of `quotekeeper plan`. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { planBudget } from "../../../src/collect/budgetPlan.ts";
import { loadConfig } from "../../../src/config/loadEnvironment.ts";
import { createJobsReader } from "../../../src/collector/page/jobsView.ts";
import { planView } from "../../../src/collector/page/planView.ts";
import type { JobsView } from "../../../src/web/api/types.ts";
import { contractsOf, dueJob, MINUTE_MS, symbolsNamed } from "../../collect/due.ts";
import { jobOf } from "../../collect/jobOf.ts";
import { createTestClock } from "../../support/clock.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";

const { pool } = await freshDatabase();

/** Friday, in the session. */
const NOW = "2026-11-20T16:00:00.000000Z";

function readerOf(files: Record<string, string>): { dir: string; read: () => Promise<JobsView> } {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const config = loadConfig({ QUOTEKEEPER_JOBS_DIR: dir }, tempDir());
  return { dir, read: createJobsReader({ config, reader: pool, clock: createTestClock(NOW) }) };
}

const job = (name: string, rest: string): string => `name: ${name}\nschedule: "* * * * *"\n${rest}\n`;

test("a job is told with its cron in words, its chains in words, and what it costs", async () => {
  const { read } = readerOf({
    "us.yaml": 'name: us\nschedule: "*/5 9-16 * * MON-FRI"\npriority: 5\nsymbols: [AAPL, GE]\n',
    "chain.yaml": job(
      "chain",
      "chains: [{ underlying: AAPL, expirations: { next: 2, kind: monthly }, strikes: { around: last, percent: 4, step: 5 }, types: [PUT] }]",
    ),
  });

  const { jobs, plan, problem, broken } = await read();

  expect([problem, broken]).toEqual([null, []]);
  expect(jobs.map(({ name }) => name)).toEqual(["chain", "us"]);
  expect(jobs[1]).toMatchObject({
    ...{ file: "us.yaml", session: "regular", asks: ["2 symbols: AAPL, GE"] },
    words: "Every 5 minutes, between 09:00 and 16:59, Monday through Friday",
  });
  expect(jobs[0]?.asks).toEqual([
    "AAPL: puts of the next 2 monthly expirations, strikes within 4 % of the last price, every 5",
  ]);
  // Six and a half hours: 78 slots of five minutes, and one of each minute for the price that the chain hangs on.
  expect(plan).toMatchObject({ date: "2026-11-20", fits: true, limit: 60, priceless: ["AAPL"] });
  expect(plan?.jobs.map(({ job: name, slots }) => [name, slots])).toEqual([
    ["chain", 390],
    ["us", 78],
  ]);
});

test("each job is told with the calls of its fullest slot, beside those of the fullest minute of all", async () => {
  const { read } = readerOf({
    "full.yaml": job("full", `symbols: [${symbolsNamed(150).join(", ")}]`),
    "half.yaml": 'name: half\nschedule: "*/2 * * * *"\ndelayed: true\nsymbols: [AAPL]\n',
  });

  const { plan, jobs } = await read();

  expect(plan?.jobs.map(({ job: name, calls }) => [name, calls])).toEqual([
    ["full", 2],
    ["half", 1],
  ]);
  expect(plan?.mostAMinute).toBe(3);
  expect(jobs[0]?.asks).toEqual([expect.stringMatching(/^150 symbols: .* and 144 more$/)]);
});

test("a job that starves is named with how many of its polls are missed, and an urgent job does not starve", () => {
  const due = [0, 1, 2].flatMap((minute) => {
    const slotMs = Date.parse("2026-11-20T14:30:00Z") + minute * MINUTE_MS;
    return [
      dueJob({ name: "first", slotMs, priority: 5, contracts: contractsOf(11, "AAPL") }),
      dueJob({ name: "last", slotMs, contracts: contractsOf(3, "GE") }),
    ];
  });

  const { starving, jobs } = planBudget(due, { limit: 12, windowMs: MINUTE_MS }, 100);

  // One of three is asked each minute, each in its turn.
  expect(starving).toEqual(["last"]);
  expect(jobs.find(({ job: name }) => name === "last")?.starved).toBe(6);
});

test("with two accounts the calls of a minute are those of both", () => {
  const jobs = [jobOf({ name: "us", symbols: symbolsNamed(400) })];
  const plan = planView({
    ...{ jobs, calendar: [], known: { prices: [], expirations: [] }, date: "2026-11-20" },
    service: { batchSize: 100, another: { limit: 60, windowMs: MINUTE_MS } },
    accounts: ["a", "b"].map((name) => ({ name, limit: 60, windowMs: MINUTE_MS })),
  });

  expect(plan?.mostAMinute).toBe(4);
  expect(plan?.limit).toBe(120);
});

test("a day of more polls than a page can plan is left to the command, and a day just below is planned", () => {
  const planOf = (symbols: number) =>
    planView({
      ...{ calendar: [], known: { prices: [], expirations: [] }, date: "2026-11-20" },
      jobs: [jobOf({ name: "us", schedule: "*/5 * * * * *", symbols: symbolsNamed(symbols) })],
      service: { batchSize: 100, another: { limit: 60, windowMs: MINUTE_MS } },
      accounts: [{ name: "a", limit: 60, windowMs: MINUTE_MS }],
    });

  // 4,680 slots of five seconds.
  expect(planOf(535)).toBeNull();
  expect(planOf(2)).toMatchObject({ mostAMinute: 12 });
});

test("beside a broken file the plan is that of the files before, which is what a collector goes on with", async () => {
  const { read, dir } = readerOf({ "us.yaml": job("us", "symbols: [AAPL, GE]") });

  const before = await read();
  writeFileSync(join(dir, "wrong.yaml"), job("wrong", "symbols: 7"));
  const broken = await read();
  const neverSeen = readerOf({ "us.yaml": job("us", "symbols: [GE]"), "wrong.yaml": "name: [" });

  expect(before).toMatchObject({ isOfFilesBefore: false, plan: { jobs: [{ job: "us" }] } });
  expect([broken.isOfFilesBefore, broken.plan]).toEqual([true, before.plan]);
  expect(await neverSeen.read()).toMatchObject({ isOfFilesBefore: true, plan: null });
});

test("a broken file is told with the text around each mistake, the others stay; one that is mended is right again", async () => {
  const text = `name: wrong\nschedule: "* * * *"\nsymbols: [AAPL]\ncolour: red\n`;
  const { read, dir } = readerOf({ "us.yaml": job("us", "symbols: [AAPL]"), "wrong.yaml": text });

  const before = await read();
  writeFileSync(join(dir, "wrong.yaml"), job("wrong", "symbols: [GE, IBM]"));
  const after = await read();

  expect(before.broken).toHaveLength(1);
  expect(before.broken[0]).toMatchObject({
    file: "wrong.yaml",
    problems: [
      { line: 2, message: expect.stringContaining("cron") },
      { line: 4, message: expect.stringContaining("colour") },
    ],
  });
  expect(before.broken[0]?.lines.map(({ text: line }) => line).join("\n")).toBe(text);
  expect(before.jobs.map(({ name }) => name)).toEqual(["us"]);
  expect(after).toMatchObject({ broken: [], jobs: [{ name: "us" }, { name: "wrong" }] });
});

test("of a list of symbols and of the accounts' file no line is shown: they may hold a secret by mistake", async () => {
  const secret = "a secret that somebody keeps here";
  const { read } = readerOf({
    "us.yaml": job("us", "symbols: [AAPL]"),
    "list.yaml": job("list", "symbolsFile: ./list.txt"),
    "list.txt": secret,
    "accounts.yaml": `accounts:\n  - name: one\n    secret: ${secret}\n`,
  });

  const view = await read();

  expect(view.broken.map(({ file }) => file).sort()).toEqual(["accounts.yaml", "list.txt"]);
  expect(JSON.stringify(view)).not.toContain(secret);
});

test("a plan is made once for as long as the files are the same", async () => {
  const { read, dir } = readerOf({ "us.yaml": job("us", "symbols: [AAPL]") });

  const [first, second] = [await read(), await read()];
  writeFileSync(join(dir, "more.yaml"), job("more", "symbols: [GE]"));
  const third = await read();

  expect(second.plan).toBe(first.plan);
  expect(third.plan?.jobs).toHaveLength(2);
});

test("without job files, or without their directory, the page says so", async () => {
  const { read } = readerOf({});
  const gone = readerOf({});
  rmSync(gone.dir, { recursive: true });

  expect(await read()).toMatchObject({ jobs: [], plan: null, problem: { code: "JOBS_UNREADABLE" } });
  expect(await gone.read()).toMatchObject({ jobs: [], plan: null, problem: { code: "JOBS_UNREADABLE" } });
});
