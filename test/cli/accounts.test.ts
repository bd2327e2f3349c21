/** `accounts`: what each does, and the operator's word on who takes part. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { keepAccounts } from "../../src/archive/ledger/accountRows.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase, handOnDatabases } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { run } from "./edges.ts";

handOnDatabases();

const THREE = ["default", "simulated-2", "simulated-3"];

function settings(more: Record<string, string> = {}): Record<string, string> {
  const jobs = tempDir();
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  return {
    QUOTEKEEPER_JOBS_DIR: jobs,
    QUOTEKEEPER_DATA_DIR: join(tempDir(), "data"),
    QUOTEKEEPER_SIMULATED_ACCOUNTS: "3",
    QUOTES_LIMIT: "50",
    ...more,
  };
}

const account = (name: string, state = "active") => ({
  ...{ name, limit: 50, windowMs: 60_000, state, owner: null, fence: null, callsUsed: 0 },
});

test("before there is an archive the accounts are listed as they are configured, and none can be drained", async () => {
  const env = settings();
  const { url } = await freshDatabase({ migrated: false });

  const list = await run(["accounts", "list", "--json"], env);
  const empty = await run(["accounts", "list", "--json"], { ...env, DATABASE_URL: url });
  const drain = await run(["accounts", "drain", "default"], env);

  expect(list).toMatchObject({ exitCode: 0, stderr: "" });
  expect(JSON.parse(list.stdout)).toEqual({ accounts: THREE.map((name) => account(name)) });
  expect(empty).toEqual(list);
  expect(drain).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ARCHIVE_EMPTY") });
});

test("a drained account stays drained, is listed as drained at once, and may be drained twice", async () => {
  const { url, pool } = await freshDatabase();
  const env = settings({ DATABASE_URL: url });
  await keepAccounts(pool, [
    { name: "default", callLimit: 50, windowMs: 60_000, state: "active" },
    { name: "simulated-2", callLimit: 50, windowMs: 60_000, state: "refused" },
  ]);

  const drained = [
    await run(["accounts", "drain", "default"], env),
    await run(["accounts", "drain", "default"], env),
  ];
  const json = await run(["accounts", "drain", "simulated-3", "--json"], env);
  const list = await run(["accounts", "list", "--json"], env);
  const resumed = await run(["accounts", "resume", "default"], env);

  const said =
    "default makes no calls as soon as a collector runs: calls are shared by simulated-2, simulated-3.\n";
  expect(drained).toEqual([said, said].map((stdout) => ({ exitCode: 0, stdout, stderr: "" })));
  expect(JSON.parse(json.stdout)).toEqual(account("simulated-3", "drained"));
  expect(JSON.parse(list.stdout)).toEqual({
    accounts: [
      account("default", "drained"),
      account("simulated-2", "refused"),
      account("simulated-3", "drained"),
    ],
  });
  expect(resumed.stdout).toBe(
    "default takes part again as soon as a collector runs: calls are shared by default, simulated-2.\n",
  );
  expect(
    await rowsOfQuery(pool, "select name, wanted from accounts where wanted is not null order by name"),
  ).toEqual([
    { name: "default", wanted: "active" },
    { name: "simulated-3", wanted: "drained" },
  ]);
});

test("accounts drain says that nothing is polled when the last account is drained", async () => {
  const { url, pool } = await freshDatabase();
  const env = settings({ DATABASE_URL: url, QUOTEKEEPER_SIMULATED_ACCOUNTS: "1" });
  // One that another collector has, and the files here do not name.
  await pool.query("insert into accounts (id, name) values (2, 'another')");
  await pool.query(
    `with joined as (
       insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
       values (gen_random_uuid(), 3, 'quotes-1', 'r', 4711, 'h', '1', now(), now(), 0, true, '', '{}', '{}') returning id
     )
     insert into leases (account_id, fence, holder, run, beat, granted_at, renewed_at, expires_at, released)
     select account, fence, id, 'r', 0, now(), now(), now() + interval '1 day', false
     from joined, (values (1, 5), (2, 9)) as of (account, fence)`,
  );

  const { exitCode, stdout } = await run(["accounts", "drain", "default"], env);
  const list = await run(["accounts", "list"], env);

  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout:
      "default makes no calls from the next slot on: NOTHING IS POLLED, because all accounts are drained.\n",
  });
  expect(list.stdout).toMatch(/^default +drained +0 +50 +60 s +quotes-1 +5$/m);
});

test("a collector is forgotten by its name, once", async () => {
  const { url, pool } = await freshDatabase();
  const env = settings({ DATABASE_URL: url });
  await pool.query(
    `insert into collectors (id, number, name, run, pid, host, version, started_at, seen_at, beat, stopped, jobs_digest, files, knows)
     values (gen_random_uuid(), 3, 'quotes-1', 'r', 4711, 'h', '1', now(), now(), 0, true, '', '{}', '{}')`,
  );

  const forgotten = await run(["accounts", "forget", "quotes-1"], env);
  const again = await run(["accounts", "forget", "quotes-1", "--json"], env);

  expect(forgotten).toEqual({
    ...{ exitCode: 0, stdout: "quotes-1 is forgotten; what it has collected stays.\n", stderr: "" },
  });
  expect(again).toMatchObject({ exitCode: 2, stdout: "" });
  expect(JSON.parse(again.stderr)).toMatchObject({ error: { code: "COLLECTOR_UNKNOWN" } });
});

test("an account that is not configured is refused with the names of those that are, whatever is wrong with a job file", async () => {
  const env = settings({ DATABASE_URL: (await freshDatabase()).url });
  writeFileSync(join(env["QUOTEKEEPER_JOBS_DIR"] ?? "", "b.yaml"), "name: b\n");

  const drain = await run(["accounts", "drain", "fourth"], env);
  const list = await run(["accounts", "list"], env);

  expect(drain).toMatchObject({
    exitCode: 2,
    stdout: "",
    stderr: expect.stringContaining(`ACCOUNT_UNKNOWN: fourth is no account of ${THREE.join(", ")}. `),
  });
  expect(list.exitCode).toBe(0);
});
