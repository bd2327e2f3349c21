/** Dates whose rows came when the date was over are noted, whichever way the rows came. */
import { expect, test } from "@jest/globals";
import type pg from "pg";
import { exchangeDatesOf, slotTimesIn } from "../../src/archive/schema/lateDays.ts";
import { fillSlots } from "../../src/archive/refill/fillSlots.ts";
import { deriveCloses } from "../../src/archive/refill/deriveCloses.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import { answerRecord, symbolsCall } from "../support/journal.ts";
import { loadingWorld } from "../support/loading.ts";
import { answerXml, equityXml } from "../support/xml.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import type { Instant } from "../../src/ground/clock.ts";

const answer = (at: Instant, symbol = "AAPL"): JournalRecord =>
  answerRecord(at, answerXml(equityXml(symbol)), { request: symbolsCall(symbol) });

const slots = (at: Instant, ...slotAts: Instant[]): JournalRecord => ({
  ...{ kind: "note", at },
  note: {
    ...{ type: "slots", source: "account" },
    entries: slotAts.map((slotAt) => ({
      job: "list",
      slotAt,
      due: ["AAPL", "KO"],
      misses: [["KO", "down"]],
    })),
  },
});

async function lateDays(pool: pg.Pool): Promise<unknown[]> {
  const rows = await rowsOfQuery(pool, "select date::text from late_days order by 1");
  await pool.query("delete from late_days");
  return rows.map(({ date }) => date);
}

test("answers and slots of a date that is over are noted; those of the day on which they are loaded are not", async () => {
  const { pool, append, load } = await loadingWorld();
  // Midnight in New York is at five o'clock.
  await append(answer("2026-11-18T04:59:59.999999Z"), answer("2026-11-18T05:00:00.000000Z"));
  await append(slots("2026-11-20T15:00:00.000000Z", "2026-11-13T15:00:00.000000Z"));
  await load();
  const late = await lateDays(pool);

  // The database's own clock says which date is over.
  const now = instantFromDate(systemClock.now());
  await append(answer(now), slots(now, now));
  await load({ clock: systemClock });

  expect(late).toEqual(["2026-11-13", "2026-11-17", "2026-11-18"]);
  expect(await lateDays(pool)).toEqual([]);
});

test("what the database itself does not know to be over is not noted", async () => {
  const { pool, append, load } = await loadingWorld();
  await append(answer("2099-11-18T15:00:00.000000Z"));

  await load();

  expect(await lateDays(pool)).toEqual([]);
});

test("slots that are filled and closes that are derived are noted", async () => {
  const { pool, append, load } = await loadingWorld();
  await append(
    slots("2026-11-18T15:00:00.000000Z", "2026-11-18T15:00:00.000000Z"),
    answer("2026-11-18T15:00:05.000000Z", "KO"),
  );
  await load();
  await lateDays(pool);

  const filled = await fillSlots(pool, {
    ...{
      from: null,
      to: null,
      by: "gaps",
      polled: { delayedJobs: [], endOf: ({ slotMs }) => slotMs + 60_000 },
      now: "2026-11-20T15:00:00.000000Z",
    },
  });
  const afterFill = await lateDays(pool);
  await pool.query(
    `insert into derived_closes select id, '2026-11-18', 1, 5, now(), now() from instruments where symbol = 'KO'`,
  );
  await append(answer("2026-11-18T20:59:00.000000Z", "KO"));
  await load();
  await lateDays(pool);
  await deriveCloses(pool, { from: null, to: null, now: "2026-11-20T15:00:00.000000Z" });

  expect([filled, afterFill]).toEqual([1, ["2026-11-18"]]);
  expect(await lateDays(pool)).toEqual(["2026-11-18"]);
});

test("a note that is not whole costs nothing here", () => {
  const notes = [
    { type: "slots" },
    { type: "down", slots: [1, "2026-13-45T99:00:00.000000Z", null] },
    { type: "slots", entries: [{}] },
  ];

  expect(exchangeDatesOf(notes.flatMap((note) => slotTimesIn(note as never)))).toEqual([]);
});
