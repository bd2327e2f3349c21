/** Whether a collector lives, and what `status` says where none does. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { CollectorRow } from "../../src/archive/ledger/fleetTypes.ts";
import { openClockFile, readSeenHere } from "../../src/schedule/clockFile.ts";
import { collectorLine, collectorOf } from "../../src/status/collectorStatus.ts";
import type { StatusReport } from "../../src/status/statusJson.ts";
import { run } from "../cli/edges.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { joinFleet } from "../support/fleetRows.ts";
import { closedPort } from "../support/stubService.ts";
import { tempDir } from "../support/tempDir.ts";

const now = new Date("2026-11-20T15:00:30Z");
const ID = "00000000-0000-4000-8000-000000000001";

/** A slot at each full minute. */
const eachMinute = (at: Date) => ({
  job: "stocks",
  at: new Date((Math.floor(at.getTime() / 60_000) + 1) * 60_000),
});

const row = (more: Partial<CollectorRow>): CollectorRow => ({
  ...{ id: ID, name: "quotes-1", version: "1.2.3", state: "running", seenAgoMs: 1_000 },
  ...{ journalLag: 0, clockOffsetMs: 0, filesDiffer: false },
  ...more,
});

type Evidence = Parameters<typeof collectorOf>[0];

function found(evidence: Partial<Evidence> & { rows?: CollectorRow[] }) {
  const { rows = [], ...more } = evidence;
  const fleet = { collectors: rows, accounts: [] };
  const lease = { id: ID, name: "quotes-1", others: false };
  const given = { fleet, here: null, lease, isStarting: false, slotAfter: eachMinute, now };
  const collector = collectorOf({ ...given, ...more });
  return { ...collector, line: collectorLine(collector, more.slotAfter !== NOTHING_DUE, now) };
}

const NOTHING_DUE = () => null;

describe("a collector that was killed, froze or was lost", () => {
  const gone = (seenAgoMs: number) => found({ rows: [row({ seenAgoMs })] });

  test("counts as running for 15 s, is idle until a slot has passed, and then needs a person", () => {
    expect(gone(15_000)).toMatchObject({ state: "running", line: { state: "ok" } });
    expect(gone(25_000)).toMatchObject({ state: "gone", overdue: null, line: { state: "idle" } });
    expect(gone(35_000)).toMatchObject({
      state: "gone",
      overdue: { job: "stocks", at: "2026-11-20T15:00:00.000Z" },
      line: {
        state: "attention",
        text: "no collector has run since 2026-11-20 09:59:55 New York, when quotes-1 was last seen (killed, frozen, or its machine is away), and stocks was due at 2026-11-20 10:00:00 New York: `quotekeeper start` goes on",
      },
    });
  });

  test("needs a person also where no job file says what was due", () => {
    expect(found({ rows: [row({ seenAgoMs: 60_000 })], slotAfter: NOTHING_DUE }).line.state).toBe(
      "attention",
    );
  });

  test("is gone although the database's clock was set back since it was seen", () => {
    expect(found({ rows: [row({ state: "gone", seenAgoMs: 0 })] }).state).toBe("gone");
  });
});

test("a collector that was stopped on purpose is idle until a slot passes, and then needs a person", () => {
  const stopped = (seenAgoMs: number, slotAfter: Evidence["slotAfter"] = eachMinute) =>
    found({ rows: [row({ state: "stopped", seenAgoMs })], slotAfter });

  expect(stopped(29_000)).toMatchObject({
    state: "stopped",
    line: {
      state: "idle",
      text: "no collector has run since 2026-11-20 10:00:01 New York, when quotes-1 stopped; nothing was due",
    },
  });
  expect(stopped(31_000).line).toMatchObject({
    state: "attention",
    text: expect.stringContaining("when quotes-1 stopped, and stocks was due at 2026-11-20 10:00:00"),
  });
  expect(stopped(86_400_000, NOTHING_DUE).line.state).toBe("idle");
});

test("where no collector has ever run that is said, and needs nobody", () => {
  expect(found({ lease: null })).toMatchObject({ state: "none", seenAt: null, line: { state: "idle" } });
});

test("a collector that is about to begin in this process is no collector that is gone", () => {
  expect(found({ rows: [row({ seenAgoMs: 900_000 })], isStarting: true }).state).toBe("starting");
});

describe("the files of the data directory", () => {
  test("tell that the collector lives while the database does not answer, or has not heard of it", () => {
    const here = { agoMs: 3_000, ended: false };

    expect(found({ fleet: null, here })).toMatchObject({
      ...{ state: "running", running: 1 },
      line: { state: "ok", text: "quotes-1 runs, seen 3 s ago" },
    });
    expect(found({ rows: [row({ state: "gone", seenAgoMs: 300_000 })], here }).state).toBe("running");
  });

  test("tell that it is gone while the database does not answer", () => {
    const here = { agoMs: 45_000, ended: false };

    expect(found({ fleet: null, here })).toMatchObject({ state: "gone", line: { state: "attention" } });
  });

  test("tell that it has stopped, though the database could not be told any more", () => {
    const here = { agoMs: 45_000, ended: true };

    expect(found({ rows: [row({ seenAgoMs: 40_000 })], here }).state).toBe("stopped");
  });

  test("do not tell whether another collector runs while the database does not answer", () => {
    const lease = { id: ID, name: "quotes-1", others: true };

    expect(found({ fleet: null, here: { agoMs: 45_000, ended: true }, lease })).toMatchObject({
      state: "unknown",
      line: { state: "idle" },
    });
    expect(found({ fleet: null, here: null, lease: null }).state).toBe("unknown");
  });

  test("are of another collector where the archive has one that this directory does not know", () => {
    const other = row({ id: "00000000-0000-4000-8000-000000000002", name: "quotes-2" });

    expect(found({ rows: [other], here: { agoMs: 86_400_000, ended: false } })).toMatchObject({
      ...{ state: "running", names: ["quotes-2"], running: 1, gone: 1 },
    });
  });
});

test("of several collectors one that lives is enough, and all that live are named", () => {
  const second = row({ id: "00000000-0000-4000-8000-000000000002", name: "quotes-2" });

  expect(found({ rows: [row({}), second] }).line.text).toBe("quotes-1, quotes-2 run, seen 1 s ago");
  expect(found({ rows: [row({ seenAgoMs: 3_600_000 }), second] })).toMatchObject({
    ...{ state: "running", names: ["quotes-2"], line: { state: "ok" } },
  });
});

describe("the age of the file", () => {
  async function kept(
    move: (clock: ReturnType<typeof createTestClock>) => void,
    { boot = "b", ended = false },
  ) {
    const [dir, clock] = [tempDir(), createTestClock("2026-11-20T15:00:00.000Z")];
    const file = await openClockFile(dir, clock, "b");
    await (ended ? file.end() : file.keep());
    move(clock);
    return readSeenHere(dir, clock, boot);
  }

  test("is that of the machine's uptime, so that a wall clock that is moved makes nothing old or new", async () => {
    for (const wall of ["2026-11-20T18:00:00Z", "2026-11-20T12:00:00Z", "1970-01-01T00:00:00Z"])
      expect(await kept((clock) => [clock.advance(4_000), clock.setTo(wall)], {})).toEqual({
        agoMs: 4_000,
        ended: false,
      });
  });

  test("is that of the wall clock after another boot; what it says of the future is not new", async () => {
    const hourBack = (clock: ReturnType<typeof createTestClock>) => clock.setTo("2026-11-20T14:00:00Z");

    expect(await kept((clock) => clock.advance(4_000), { boot: "c" })).toEqual({
      agoMs: 4_000,
      ended: false,
    });
    expect(await kept(hourBack, { boot: "c" })).toEqual({ agoMs: 3_600_000, ended: false });
    expect(await kept(hourBack, { boot: "c", ended: true })).toEqual({ agoMs: 0, ended: true });
    expect(await readSeenHere(tempDir(), createTestClock(), null)).toBeNull();
  });
});

test("`status` has a line of the collector, and a next poll only while one lives", async () => {
  const { url, pool } = await freshDatabase();
  const jobs = tempDir();
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "* * * * *"\nsession: always\nsymbols: [AAPL]\n');
  const env = { QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: tempDir(), DATABASE_URL: url };
  const look = async (changed = env) => {
    const { exitCode, stdout } = await run(["status", "--json"], changed);
    const { collector, nextPoll, lines, fleet } = JSON.parse(stdout) as StatusReport;
    const next = lines.find(({ subject }) => subject === "next poll")?.state;
    return { exitCode, state: collector.state, polls: nextPoll !== null, next, fleet };
  };
  const none = { polls: false, next: "idle", fleet: null };

  expect(await look()).toEqual({ exitCode: 0, state: "none", ...none });
  await joinFleet(pool, { number: 1 });
  expect(await look()).toEqual({ exitCode: 0, state: "running", polls: true, next: "ok", fleet: null });
  await pool.query("update collectors set seen_at = now() - interval '2 minutes'");
  expect(await look()).toEqual({ exitCode: 1, state: "gone", ...none });
  await pool.query("update collectors set stopped = true");
  expect(await look()).toEqual({ exitCode: 1, state: "stopped", ...none });

  const away = { ...env, DATABASE_URL: `postgresql://me@127.0.0.1:${await closedPort()}/quotes` };
  expect(await look(away)).toMatchObject({ exitCode: 1, state: "unknown", ...none });
  await (
    await openClockFile(env.QUOTEKEEPER_DATA_DIR, createTestClock(new Date().toISOString()), null)
  ).keep();
  expect(await look(away)).toMatchObject({ exitCode: 1, state: "running", polls: true, next: "ok" });
});
