import { describe, expect, test } from "@jest/globals";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { type PastSlot, pastSlotEnds } from "../../src/schedule/pastSlots.ts";
import { jobOf } from "../collect/jobOf.ts";
import { SLOT_ENDS } from "../support/slotEnds.ts";

const nyse = createCalendar();

/** A slot of the ledger, and the ones beside it, as times in UTC. */
function past(job: string, slotAt: string, { previous = "", next = "" } = {}): PastSlot {
  const ms = (time: string): number | null => (time === "" ? null : Date.parse(time));
  return {
    ...{ job, simulated: false, slotMs: Date.parse(slotAt) },
    ...{ previousMs: ms(previous), nextMs: ms(next) },
  };
}

describe("a slot of the ledger was over", () => {
  const over = (slot: PastSlot, schedule = "*/5 * * * *"): string => {
    const jobs = [jobOf({ name: "list", schedule, session: "regular" })];
    return new Date(pastSlotEnds(jobs, nyse)(slot)).toISOString().slice(0, 19);
  };

  test.each(SLOT_ENDS)("when the collector's was, whatever is in the ledger beside it: $name", (slot) => {
    const jobs = [jobOf({ ...slot, name: "list" })];

    expect(new Date(pastSlotEnds(jobs, nyse)(past("list", slot.slotAt)))).toEqual(new Date(slot.endsAt));
  });

  test("when the next one in the ledger began, which the job had then, though its file says a later one", () => {
    const next = "2026-01-15T17:02:00Z";

    expect(over(past("list", "2026-01-15T17:00:00Z", { next }))).toBe("2026-01-15T17:02:00");
  });

  test("by the ledger where the job's file is gone, or says no such slot", () => {
    const beside = { previous: "2026-01-15T17:01:00Z", next: "2026-01-15T17:04:00Z" };

    expect(over(past("gone", "2026-01-15T17:02:00Z", beside))).toBe("2026-01-15T17:04:00");
    expect(over(past("list", "2026-01-15T17:02:00Z", beside))).toBe("2026-01-15T17:04:00");
    expect(over(past("gone", "2026-01-15T17:02:00Z", { ...beside, next: "" }))).toBe("2026-01-15T17:03:00");
    expect(over(past("gone", "2026-01-15T17:02:00Z"))).toBe("2026-01-15T17:03:00");
  });

  test.each([
    ["pre", "2026-01-15T14:00:00Z", "2026-01-15T14:30:00"],
    ["regular", "2026-01-15T15:00:00Z", "2026-01-15T21:00:00"],
    ["post", "2026-01-15T21:30:00Z", "2026-01-16T01:00:00"],
    ["closed", "2026-01-16T02:00:00Z", "2026-01-16T09:00:00"],
  ])(
    "with its part of the trading day where the job's file is gone and no other slot came: %s",
    (_, at, end) => {
      expect(over(past("gone", at, { next: "2027-01-15T14:00:00Z" }))).toBe(end);
    },
  );

  test("of the simulated market at midnight in New York, however its job's session is called", () => {
    const slot = { ...past("list", "2026-01-17T17:00:00Z"), simulated: true };

    expect(over(slot, "0 12 * * *")).toBe("2026-01-18T05:00:00");
  });
});
