/** What `status` says of several collectors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { CollectorRow, OwnedAccount } from "../../src/archive/ledger/fleetTypes.ts";
import { fleetLines } from "../../src/status/fleetStatus.ts";
import type { StatusReport } from "../../src/status/statusJson.ts";
import { run } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { tempDir } from "../support/tempDir.ts";

const collector = (name: string, more: Partial<CollectorRow> = {}): CollectorRow => ({
  ...{ id: "00000000-0000-4000-8000-000000000001", name, version: "0.1.0", state: "running", seenAgoMs: 900 },
  ...{ journalLag: 0, clockOffsetMs: 0, filesDiffer: false },
  ...more,
});
const account = (name: string, owner: string | null, more: Partial<OwnedAccount> = {}): OwnedAccount => ({
  ...{ account: name, owner, fence: 3, renewedAgoMs: 1_000, takeOvers: 0, takesPart: true },
  ...more,
});
const one = collector("quotes-1");
const CALM = { unsureSince: null, uncalled: {} };
/** The line of the collectors when there is this one beside one that runs. */
const beside = (...others: CollectorRow[]) =>
  fleetLines({ collectors: [one, ...others], accounts: [] }, CALM)[0];

test("two that run, and who calls what", () => {
  const accounts = [account("main", "quotes-1"), account("second", "quotes-2", { takeOvers: 2 })];

  expect(fleetLines({ collectors: [one, collector("quotes-2")], accounts }, CALM)).toEqual([
    { subject: "collectors", state: "ok", text: "quotes-1 runs 0.1.0; quotes-2 runs 0.1.0" },
    {
      ...{ subject: "owners", state: "ok" },
      text: "main by quotes-1 (fence 3, renewed 1 s ago), second by quotes-2 (fence 3, renewed 1 s ago, taken over 2 times in the last day)",
    },
  ]);
});

describe("a person is needed where", () => {
  const remedy = "start it again, or say `quotekeeper accounts forget quotes-2`";

  test("a collector is gone, or has stopped with answers that the archive has not", () => {
    expect(beside(collector("quotes-2", { state: "gone", seenAgoMs: 180_000 }))).toEqual({
      ...{ subject: "collectors", state: "attention" },
      text: `quotes-1 runs 0.1.0; quotes-2 was not seen for 3 min, and its journal may hold answers that the archive has not: ${remedy}`,
    });
    expect(beside(collector("quotes-2", { state: "stopped", journalLag: 812 }))).toEqual({
      ...{ subject: "collectors", state: "attention" },
      text: `quotes-1 runs 0.1.0; quotes-2 has stopped, and 812 B of its journal are answers that the archive has not: ${remedy}`,
    });
  });

  test("files differ, or the clocks of those that run", () => {
    expect(beside(collector("quotes-2", { filesDiffer: true }))).toMatchObject({
      state: "attention",
      text: expect.stringContaining(
        "quotes-2 runs 0.1.0 (its job files or accounts are others than those in force: give all the same)",
      ),
    });
    expect(beside(collector("quotes-2", { clockOffsetMs: -5_001 }))).toMatchObject({
      state: "attention",
      text: expect.stringContaining("; their clocks are 6 s apart: see to the machines' time service"),
    });
  });

  test("nobody calls an account for half a minute, while a collector runs", () => {
    const owners = (more: Partial<OwnedAccount>, collectors = [one, collector("quotes-2")]) =>
      fleetLines({ collectors, accounts: [account("main", null, more)] }, CALM)[1];

    expect(owners({ renewedAgoMs: 30_001 })).toEqual({
      ...{ subject: "owners", state: "attention", text: "main by nobody (last renewed 31 s ago)" },
    });
    expect(owners({ renewedAgoMs: null, fence: null })).toMatchObject({ state: "attention" });
    expect(owners({ renewedAgoMs: 30_000 })?.state).toBe("ok");
    expect(owners({ renewedAgoMs: 90_000, takesPart: false })?.state).toBe("ok");
    const stopped = [one, collector("quotes-2")].map((each) => ({ ...each, state: "stopped" as const }));
    expect(owners({ renewedAgoMs: 90_000 }, stopped)?.state).toBe("ok");
  });

  test("this machine's own is unsure, also while the database cannot be asked", () => {
    expect(fleetLines(null, { ...CALM, unsureSince: "2026-11-20T15:00:00.000Z" })).toEqual([
      {
        ...{ subject: "collectors", state: "attention" },
        text: "this machine's own does not know since 2026-11-20 10:00:00 New York whether its accounts are still its own: the database does not answer it",
      },
    ]);
  });
});

test("what is in order needs nobody: one that stopped with all loaded, clocks that are 5 s apart, a little that is behind", () => {
  expect(
    beside(collector("quotes-2", { state: "stopped", seenAgoMs: 7_200_000, clockOffsetMs: 9e8 })),
  ).toEqual({
    ...{ subject: "collectors", state: "ok", text: "quotes-1 runs 0.1.0; quotes-2 stopped 2 h ago" },
  });
  expect(beside(collector("quotes-2", { state: "stopped", journalLag: null }))?.state).toBe("ok");
  expect(beside(collector("quotes-2", { clockOffsetMs: 5_000, journalLag: 1_000_000 }))).toMatchObject({
    ...{ state: "ok", text: "quotes-1 runs 0.1.0; quotes-2 runs 0.1.0" },
  });
  expect(beside(collector("quotes-2", { journalLag: 3_400_000 }))?.text).toContain(
    "quotes-2 runs 0.1.0 (3.4 MB of its journal are not loaded yet)",
  );
});

test.each(["$(reboot)", "a b", "-h", "`id`", "a\u001b[2J", ""])(
  "a name that a shell would take for something else is in no command: %j",
  (name) => {
    const text = beside(collector(name, { state: "gone" }))?.text ?? "";

    expect(text).toContain("`quotekeeper accounts forget 00000000-0000-4000-8000-000000000001`");
  },
);

test("`status` tells of them, with exit code 1 where one is gone; one alone has no line of collectors", async () => {
  const { url, pool } = await freshDatabase();
  const jobs = tempDir();
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  const dataDir = tempDir();
  const env = { QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: dataDir, DATABASE_URL: url };
  const asJson = async () => JSON.parse((await run(["status", "--json"], env)).stdout) as StatusReport;

  await joinFleet(pool, { number: 1, seen: "1 hour" });
  const alone = await run(["status"], env);
  const aloneJson = await asJson();
  await joinFleet(pool, { number: 2, name: "quotes\u001b[2J" });
  const text = await run(["status"], env);
  const json = await asJson();
  await pool.query("update collectors set stopped = true, journal_lag = 0 where number = 1");
  const stopped = await run(["status"], env);
  const known = { id: "00000000-0000-4000-8000-000000000001", number: 1, name: "quotes-1", held: [] };
  const since = "2026-11-20T15:00:00.000Z";
  writeFileSync(join(dataDir, "lease.json"), JSON.stringify({ ...known, others: true, unsureSince: since }));
  const unsure = await asJson();
  writeFileSync(
    join(dataDir, "lease.json"),
    JSON.stringify({ ...known, others: false, unsureSince: null, uncalled: { default: since } }),
  );
  const uncalled = await run(["status"], env);

  expect(alone).toMatchObject({ exitCode: 1, stdout: expect.not.stringContaining("collectors") });
  expect(aloneJson).toMatchObject({ fleet: null, unsureSince: null });
  expect(text).toMatchObject({ exitCode: 1, stderr: "" });
  expect(text.stdout).toMatch(
    /^collectors ATTENTION +quotes-1 was not seen for 60 min, .*forget quotes-1`; quotes\\u001b\[2J runs 1$/m,
  );
  expect(json).toMatchObject({
    healthy: false,
    fleet: { collectors: [{ state: "gone" }, { state: "running" }] },
  });
  expect(stopped.exitCode).toBe(0);
  expect(unsure).toMatchObject({ healthy: false, unsureSince: since, uncalled: {} });
  expect(uncalled).toMatchObject({ exitCode: 1 });
  expect(uncalled.stdout).toMatch(/^collectors ATTENTION +nobody calls default since 2026-11-20 10:00/m);
});
