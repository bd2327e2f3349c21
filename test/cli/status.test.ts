import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { placeAccounts } from "../../src/archive/ledger/accountRows.ts";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import type { StatusReport } from "../../src/status/statusJson.ts";
import type { ClockStep, SlotEntry } from "../../src/journal/ledger.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { closedPort } from "../support/stubService.ts";
import { accountAt } from "../support/simulatedService.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

const GOOD = `name: good\nschedule: "* * * * *"\nsymbols: [AAPL]\n`;

function settings(files: Record<string, string> = { "good.yaml": GOOD }) {
  const jobs = tempDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(jobs, name), text);
  return { QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: join(tempDir(), "data") };
}

test("status before the first start finds nothing wrong, and makes nothing", async () => {
  const env = settings();

  const { exitCode, stdout, stderr } = await run(["status"], env);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^market +ok +SIMULATED market$/m);
  expect(stdout).toMatch(/^jobs +ok +1 in .*: good$/m);
  expect(stdout).toMatch(/^database +- +none yet: `quotekeeper start` makes it/m);
  expect(stdout).toMatch(/^journal +- +empty$/m);
  expect(existsSync(env.QUOTEKEEPER_DATA_DIR)).toBe(false);
});

test("a bad job file is reported and stops nothing else, exit code 1", async () => {
  const env = settings({ "good.yaml": GOOD, "bad.yaml": "name: bad\n" });

  const { exitCode, stdout } = await run(["status"], { ...env, DATABASE_URL: (await freshDatabase()).url });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^jobs +ATTENTION +.*bad\.yaml:1: schedule is missing/m);
  expect(stdout).toMatch(/^database +ok +.*schema version \d+, 0 instruments/m);
});

test("a jobs directory without a job needs a person", async () => {
  const { exitCode, stdout } = await run(["status"], settings({}));

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^jobs +ATTENTION +JOBS_UNREADABLE: /m);
});

test("a database that is down is named with its variable, exit code 1, and its password is not shown", async () => {
  const port = await closedPort();

  const { exitCode, stdout, stderr } = await run(["status"], {
    ...settings(),
    DATABASE_URL: `postgresql://me:canary-password@127.0.0.1:${port}/quotes`,
  });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    new RegExp(
      `^database +ATTENTION +DATABASE_UNREACHABLE: 127\\.0\\.0\\.1:${port}/quotes.*DATABASE_URL`,
      "m",
    ),
  );
  expect(stdout + stderr).not.toContain("canary");
});

test("a database that was never migrated is told apart from one that is down", async () => {
  const { url } = await freshDatabase({ migrated: false });

  const { exitCode, stdout } = await run(["status"], { ...settings(), DATABASE_URL: url });

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^database +- +.* is empty: run `quotekeeper migrate`$/m);
});

test("after a poll the newest answer, the instruments and the journal are healthy; --json says the same", async () => {
  const clock = createTestClock();
  const env = { ...settings(), DATABASE_URL: (await freshDatabase()).url };
  await run(["poll", "--symbols", "AAPL,MSFT"], env, clock);

  const text = await run(["status"], env, clock);
  const json = await run(["status", "--json"], env, clock);

  expect(text).toMatchObject({ exitCode: 0, stderr: "" });
  expect(text.stdout).toMatch(/^database +ok +.*2 instruments, simulated$/m);
  expect(text.stdout).toMatch(
    /^answers +ok +last under a minute ago; in the last hour 1 answer with quotes$/m,
  );
  expect(text.stdout).toMatch(/^journal +ok +.*all loaded$/m);
  expect(JSON.parse(json.stdout)).toMatchObject({ healthy: true, lastHour: { quotes: 1 } });
  expect(json.stderr).toBe("");
});

test("an instrument that the service does not know shows by name, and an account's job that is late since when", async () => {
  const { url, pool } = await freshDatabase();
  const clock = createTestClock("2026-11-20T15:00:00Z");
  const client = await pool.connect();
  await insertLedger(client, [
    {
      type: "slots",
      entries: [
        {
          job: "good",
          slotAt: "2026-11-20T14:40:00.000000Z",
          due: ["AAPL", "NOPE", "AMDX"],
          misses: [
            ["NOPE", "unknown_symbol"],
            ["AMDX", "unknown_symbol"],
          ],
        },
      ],
    },
  ]);
  client.release();

  const { exitCode, stdout } = await run(
    ["status"],
    { ...settings(), ...accountAt("http://127.0.0.1:1"), DATABASE_URL: url },
    clock,
  );

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^unknown +ATTENTION +the service does not know AMDX \(did you mean AMD\?\), NOPE: correct the job files$/m,
  );
  expect(stdout).toMatch(
    /^slots +ATTENTION +good is late since 2026-11-20 09:41:00 New York: .* 3 due .* 2 unknown_symbol$/m,
  );
});

test("a data directory that is a file needs a person, and everything else is still told", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");

  const { exitCode, stdout, stderr } = await run(["status"], { ...settings(), QUOTEKEEPER_DATA_DIR: file });

  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  expect(stdout).toMatch(/^jobs +ok /m);
  expect(stdout).toMatch(/^journal +ATTENTION JOURNAL_UNREADABLE: .*ENOTDIR/m);
});

test("the next poll is the next slot of the session, and the budget what the last minute used", async () => {
  const { url } = await freshDatabase();
  const clock = createTestClock("2026-11-20T22:50:00Z");
  const env = { ...settings(), DATABASE_URL: url };
  await run(["poll", "--symbols", "AAPL"], env, clock);

  const simulated = await run(["status"], env, clock);
  const real = await run(["status"], { ...env, ...accountAt("http://127.0.0.1:1") }, clock);

  // The simulated market is always open; the exchange opens again on Monday.
  expect(simulated.stdout).toMatch(
    /^next poll - +none, for no collector runs; due: good in (?:59|60) s, at 2026-11-20 17:51:00 New York$/m,
  );
  expect(simulated.stdout).toMatch(/^budget +ok +1 of 60 calls in the last minute; the service counts 1$/m);
  expect(real.stdout).toMatch(/^next poll - .*good in 3 days, at 2026-11-23 09:30:00 New York$/m);
  for (const { stdout } of [simulated, real])
    expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(11);
});

test("status shows several accounts in sum and each for itself, and the sum is that of the rows", async () => {
  const { url, pool } = await freshDatabase();
  const clock = createTestClock("2026-11-20T22:50:00Z");
  const env = { ...settings(), DATABASE_URL: url, QUOTEKEEPER_SIMULATED_ACCOUNTS: "3" };
  await inTransaction(pool, async (client) => {
    await placeAccounts(client, ["simulated-2", "simulated-3", "gone"]);
    const slot = { job: "good", slotAt: "2026-11-20T22:49:00.000000Z" };
    const shares: SlotEntry[] = [
      { ...slot, due: ["AAPL", "GE"], misses: [] },
      { ...slot, account: "simulated-2", due: ["KO", "T"], misses: [["KO", "budget"]] },
      { ...slot, account: "gone", due: ["IBM"], misses: [["IBM", "unauthorized"]] },
    ];
    await insertLedger(client, [{ type: "slots", source: "simulated", entries: shares }]);
  });
  await pool.query("update accounts set state = 'refused', wanted = 'drained' where name = 'simulated-3'");
  await pool.query(
    "insert into sources (id, name, kind) values (2, 's', 'simulated') on conflict do nothing",
  );
  await pool.query(
    `insert into responses (observed_at, source_id, request_id, requested_at, request, http_status, outcome, body_bytes,
       journal_segment, journal_offset, account_id)
     select at, 2, gen_random_uuid(), at, '{}', 200, case n when 4 then 'unauthorized' else 'quotes' end, 0, 's', 0, (select id from accounts where name = case when n < 4 then 'default' else 'simulated-2' end)
     from generate_series(1, 7) n, lateral (select timestamptz '2026-11-20T22:50:00Z' - n * interval '3 s' as at) w`,
  );

  const text = await run(["status"], env, clock);
  const json = await run(["status", "--json"], env, clock);

  expect(text.stdout).toMatch(/^budget +ok +7 of 180 calls in the last minute$/m);
  expect(text.stdout).toMatch(
    /^accounts +ATTENTION +default 3 of 60, simulated-2 4 of 60 \(out of budget\), simulated-3 0 of 60 \(drained\) calls$/m,
  );
  expect(text.stdout).toMatch(/^answers +ATTENTION .*1 unauthorized of simulated-2 \(going on/m);
  const report = JSON.parse(json.stdout) as StatusReport;
  expect(report.accounts).toMatchObject([
    {
      name: "default",
      state: "active",
      calls: 3,
      limit: 60,
      lastAnswerAt: "2026-11-20T22:49:57Z",
      missed: {},
    },
    {
      name: "simulated-2",
      state: "active",
      calls: 4,
      lastAnswerAt: "2026-11-20T22:49:48Z",
      missed: { budget: 1 },
    },
    { name: "simulated-3", state: "drained", calls: 0, lastAnswerAt: null, missed: {} },
  ]);
  expect(report.budget).toMatchObject({ limit: 180, windowMs: 60_000, otherCalls: 0 });
  expect(report.lastDay?.missed).toEqual({ budget: 1, unauthorized: 1 });
  const [counted] = await rowsOfQuery(
    pool,
    "select count(*)::int as n from responses where observed_at > '2026-11-20T22:49:00Z'",
  );
  expect(report.budget?.calls).toBe(counted?.["n"]);
});

const NOTICED = "2026-11-20T15:00:00.000000Z";

/** What `status` says so long after steps were noticed, one a second. */
async function saidAfter(minutes: number, ...steps: ClockStep[]) {
  const { url, pool } = await freshDatabase();
  const client = await pool.connect();
  const at = (place: number): string => NOTICED.replace("00:00.", `00:0${place}.`);
  await insertLedger(
    client,
    steps.map((step, place) => ({ type: "clock", at: at(place), ...step })),
  );
  client.release();
  const clock = createTestClock(new Date(Date.parse(NOTICED) + minutes * 60_000).toISOString());
  const { exitCode, stdout } = await run(["status"], { ...settings(), DATABASE_URL: url }, clock);
  return { exitCode, clock: /^clock.*$/m.exec(stdout)?.[0], lines: stdout.trimEnd().split("\n").length };
}

const back: ClockStep = { kind: "set_back", stepMs: -3_600_000 };

test("a moved clock needs a person for an hour, in any process's status, and is shown for a day", async () => {
  const remedy = ": see to the machine's time service";
  const text = "set back by 60 min at 2026-11-20 10:00:00 New York";

  expect(await saidAfter(59, back)).toMatchObject({
    exitCode: 1,
    clock: `clock     ATTENTION ${text}${remedy}`,
  });
  expect(await saidAfter(61, back)).toMatchObject({ exitCode: 0, clock: `clock     ok        ${text}` });
  expect((await saidAfter(24 * 60, back)).clock).toBeUndefined();
});

test("a clock moved by seconds, a machine that slept and a program that could not run need nobody, and are told apart", async () => {
  const said = await saidAfter(
    1,
    { kind: "stopped", stepMs: 7_000 },
    { kind: "slept", stepMs: 28_800_000 },
    { kind: "set_forward", stepMs: 3_000 },
  );

  expect(said).toEqual({
    exitCode: 0,
    clock:
      "clock     ok        set forward by 3 s at 2026-11-20 10:00:02 New York; " +
      "the machine slept for 8 h, until 2026-11-20 10:00:01 New York; " +
      "the program could not run (the machine was busy, or the program was stopped) for 7 s, until 2026-11-20 10:00:00 New York",
    lines: expect.any(Number),
  });
  expect(said.lines).toBeLessThanOrEqual(11);
});

test("a clock that moved several times is shown by its newest move, and by how many more there are", async () => {
  const { clock } = await saidAfter(1, back, back, back, back, back);

  expect(clock).toContain("10:00:04 New York");
  expect(clock).toContain("2 more in the table clock_steps");
});
