/** A day with holes in its ledger, for backfills that fill them. */
import { loadAll } from "../../../src/archive/load/loader.ts";
import type { MissReason, SlotEntry } from "../../../src/journal/ledger.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import { createTestClock } from "../../support/clock.ts";
import { appendAll } from "../../support/journal.ts";
import { answerOf, type BackfillWorld } from "../world.ts";

/** Wednesday 18 November 2026, a regular session from 14:30 to 21:00 UTC; the next session is the day after. */
export const DAY = "2026-11-18";
export const NEXT_DAY = "2026-11-19";

export function slots(
  day: string,
  times: string[],
  misses: [string, MissReason][],
  due = ["AAPL", "MSFT"],
): JournalRecord {
  const entries = times.map((time): SlotEntry => ({
    job: "us-equities",
    slotAt: `${day}T${time}:00.000000Z`,
    due,
    misses,
  }));
  return { kind: "note", at: `${day}T${times.at(-1)}:59.000000Z`, note: { type: "slots", entries } };
}

export const answer = (day: string, time: string, symbol: string, ...prices: [string, string?]) =>
  answerOf(`${day}T${time}.000000Z`, symbol, ...prices);

export async function loaded(
  world: BackfillWorld,
  records: JournalRecord[],
  hour = `${DAY}T14:30:00.000Z`,
): Promise<void> {
  await appendAll(world.journalDir, records, { clock: createTestClock(hour) });
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: createTestClock() });
}
