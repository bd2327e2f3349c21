/** Which slots a start accounts for, when the runs before it were killed at the wrong moments. */
import { beforeEach, expect, test } from "@jest/globals";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { accountForDowntime } from "../../src/ledger/pastSlotNotes.ts";
import { beginRun } from "../../src/ledger/runMarker.ts";
import { scheduleJob } from "../../src/schedule/jobSchedule.ts";
import type { LedgerNote } from "../../src/journal/ledger.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { jobOf } from "../collect/jobOf.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

const JOB = jobOf({ name: "list", session: "always", symbols: ["AAPL"] });
const on20th = (time: string): Date => new Date(`2026-11-20T${time.padEnd(8, ":00")}Z`);

let pool: pg.Pool;
beforeEach(async () => ({ pool } = await freshDatabase()));

async function load(...notes: LedgerNote[]): Promise<void> {
  const client = await pool.connect();
  await insertLedger(
    client,
    notes.map((note) => ({ ...note, source: "account" })),
  ).finally(() => client.release());
}

async function settled(...times: string[]): Promise<void> {
  for (const time of times) {
    const slotAt = `2026-11-20T${time}:00.000000Z`;
    await load({ type: "slots", entries: [{ job: "list", slotAt, due: ["AAPL"], misses: [] }] });
  }
}

async function start(startedAt: Date, since?: Date): Promise<void> {
  const jobs = [scheduleJob(JOB, alwaysOpen)];
  await load(
    ...(await accountForDowntime(pool, { source: "account", accounts: ["default"], jobs, startedAt, since })),
  );
}

async function ledger(): Promise<unknown[]> {
  const rows = await rowsOfQuery(
    pool,
    "select to_char(slot_at, 'HH24:MI') || ' ' || stored as slot from slots order by slot_at",
  );
  return rows.map(({ slot }) => slot);
}

test("a run that was killed before it had accounted for the downtime before it leaves that to the next", async () => {
  await settled("14:30");
  // Began at 14:33:20, settled a slot, and was killed while the database was away.
  await settled("14:33");

  await start(on20th("14:35:10"), on20th("14:33:20"));

  expect(await ledger()).toEqual(["14:30 1", "14:31 0", "14:32 0", "14:33 1", "14:34 0"]);
});

test("so does the very first run", async () => {
  await settled("14:33");

  await start(on20th("14:36:10"), on20th("14:33:20"));

  expect(await ledger()).toEqual(["14:33 1", "14:34 0", "14:35 0"]);
});

test("a slot that was still open at a kill, when the one after it was settled, is accounted for", async () => {
  await settled("14:29", "14:30", "14:32");

  await start(on20th("14:33:10"));

  expect(await ledger()).toEqual(["14:29 1", "14:30 1", "14:31 0", "14:32 1"]);
});

test("the first start that was not accounted for is remembered until one is, or the clock was set back before it", async () => {
  const dir = tempDir();

  const first = await beginRun(dir, on20th("14:30"));
  const second = await beginRun(dir, on20th("14:40"));
  await second.settle();
  const third = await beginRun(dir, on20th("14:50"));
  const setBack = await beginRun(dir, on20th("14:20"));

  expect([first, second, third, setBack].map(({ since }) => since)).toEqual([
    on20th("14:30"),
    on20th("14:30"),
    on20th("14:50"),
    on20th("14:20"),
  ]);
  await setBack.settle();
  expect(existsSync(join(dir, "unaccounted.json"))).toBe(false);
});

test("a file that holds no time is none", async () => {
  const dir = tempDir();
  writeFileSync(join(dir, "unaccounted.json"), "{");

  expect((await beginRun(dir, on20th("14:30"))).since).toEqual(on20th("14:30"));
});
