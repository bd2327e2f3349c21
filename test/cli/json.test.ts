/** What commands print with --json is what docs/json.md says, for every command that has the option. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { errorJson } from "../../src/cli/terminal/complain.ts";
import { jsonSchemas } from "../../scripts/docs/json.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { type Outcome, run } from "./edges.ts";

const SCHEMAS = await jsonSchemas();

const { url, pool } = await freshDatabase();
const jobsDir = tempDir();
writeFileSync(
  join(jobsDir, "all.yaml"),
  `name: all
schedule: "*/5 * * * *"
symbols: [AAPL, GE]
options: [{ underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: 150 }]
chains:
  - { underlying: AAPL, expirations: { next: 1 }, strikes: { around: last, percent: 5, step: 5 } }
  - { underlying: GE, expirations: ["2026-12-18"], strikes: [100, 105] }
`,
);
writeFileSync(
  join(jobsDir, "calendar.yaml"),
  "overrides:\n  - { date: 2026-11-24, kind: early, close: '13:00', reason: a storm }\n",
);
const env = {
  DATABASE_URL: url,
  QUOTEKEEPER_DATA_DIR: join(tempDir(), "data"),
  QUOTEKEEPER_JOBS_DIR: jobsDir,
};
const clock = createTestClock();

function quotekeeper(...argv: string[]): Promise<Outcome> {
  clock.advance(1_000);
  return run(argv, env, clock);
}

function document(command: string, { stdout }: Outcome): unknown {
  const schema = SCHEMAS.get(command);
  if (!schema) throw new Error(`${command} has no schema`);
  return schema.parse(JSON.parse(stdout));
}

test.each([
  ["status", ["status"]],
  ["migrate", ["migrate"]],
  ["poll", ["poll", "--symbols", "AAPL,GE,NOSUCH"]],
  ["poll", ["poll", "--option", "AAPL:2026-12-18:CALL:150"]],
  ["status", ["status"]],
  ["plan", ["plan", "--date", "2026-11-23"]],
  ["calendar", ["calendar", "--from", "2026-11-23", "--to", "2026-11-27", "--closed"]],
  ["jobs check", ["jobs", "check"]],
  ["accounts list", ["accounts", "list"]],
  ["accounts drain", ["accounts", "drain", "default"]],
  ["accounts resume", ["accounts", "resume", "default"]],
  ["accounts forget", ["accounts", "forget", "quotes-1"]],
  ["journal list", ["journal", "list"]],
  ["journal verify", ["journal", "verify"]],
  ["journal repair", ["journal", "repair"]],
  ["serve keys add", ["serve", "keys", "add", "a"]],
  ["serve keys list", ["serve", "keys", "list"]],
  ["serve keys revoke", ["serve", "keys", "revoke", "a"]],
])("--json prints what the schema says: %s (%j)", async (command, argv) => {
  await pool.query(
    `insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
       values (gen_random_uuid(), 0, 'quotes-1', 'r', 1, 'h', '1', now(), now(), 0, true, '', '{}', '{}') on conflict do nothing`,
  );
  const outcome = await quotekeeper(...argv, "--json");

  expect(document(command, outcome)).toBeTruthy();
});

test("the JSON of coverage, and of status with misses, an unknown instrument and a late job, is what the schema says", async () => {
  const client = await pool.connect();
  const slotAt = instantFromDate(new Date("2026-11-20T20:00:00Z"));
  const misses: [string, "budget" | "unknown_symbol"][] = [
    ["GE", "budget"],
    ["NOPE", "unknown_symbol"],
  ];
  const entries = [{ job: "all", slotAt, due: ["AAPL", "GE", "NOPE"], misses }];
  await insertLedger(client, [{ type: "slots", entries }]);
  client.release();

  const status = await run(["status", "--json"], { ...env, ...accountAt("http://127.0.0.1:1") }, clock);
  const coverage = await quotekeeper("coverage", "--from", "2026-11-20", "--to", "2026-11-20", "--json");

  expect(document("status", status)).toMatchObject({
    healthy: false,
    unknown: ["NOPE"],
    late: [{ job: "all" }],
    lastDay: { missed: { budget: 1, unknown_symbol: 1 } },
  });
  expect(document("coverage", coverage)).toHaveLength(3);
});

test("the JSON of journal verify and repair of a damaged journal is what the schema says", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "journal"));
  const own = { ...env, QUOTEKEEPER_DATA_DIR: dataDir };
  const name = "20261120T22-019aa3c7-0000-7000-8000-000000000000";
  writeFileSync(join(dataDir, "journal", `${name}.journal.closed`), "no journal at all");
  writeFileSync(join(dataDir, "journal", "stranger.journal"), "");

  const verified = await run(["journal", "verify", "--json"], own, clock);
  const repaired = await run(["journal", "repair", "--json"], own, clock);

  expect(document("journal verify", verified)).toMatchObject({ strangers: ["stranger.journal"] });
  expect(document("journal repair", repaired)).toMatchObject({ setAside: [{ segment: name }] });
});

test.each([
  ["wrong usage", ["calendar", "--from", "2026-02-30", "--to", "2026-03-01"], {}, "USAGE", 2],
  ["wrong settings", ["status"], { QUOTES_LIMIT: "many" }, "CONFIG_INVALID", 2],
  [
    "a directory that is not there",
    ["jobs", "check"],
    { QUOTEKEEPER_JOBS_DIR: "/nowhere" },
    "JOBS_UNREADABLE",
    2,
  ],
  [
    "a database that is down",
    ["migrate"],
    { DATABASE_URL: "postgresql://u:canary@127.0.0.1:1/q" },
    "DATABASE_UNREACHABLE",
    1,
  ],
])(
  "a command that fails prints its error as the last line of stderr, and nothing on stdout: %s",
  async (_title, argv, more, code, exitCode) => {
    const outcome = await run([...argv, "--json"], { ...env, ...more }, clock);

    const { error } = errorJson.parse(JSON.parse(outcome.stderr.trimEnd().split("\n").at(-1) ?? ""));
    expect(outcome).toMatchObject({ exitCode, stdout: "" });
    expect(error).toMatchObject({ code, exitCode });
    expect(outcome.stderr).not.toContain("canary");
  },
);

test("an unknown flag is one line of JSON at every command, and nothing else", async () => {
  for (const command of SCHEMAS.keys()) {
    const outcome = await run([...command.split(" "), "--json", "--nonsense"], env, clock);

    expect({ command, ...outcome }).toMatchObject({ command, exitCode: 2, stdout: "" });
    const [line = "", ...more] = outcome.stderr.trimEnd().split("\n");
    expect(more).toEqual([]);
    expect(errorJson.parse(JSON.parse(line)).error).toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("--help"),
    });
  }
});
