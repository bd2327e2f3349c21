import { expect, test } from "@jest/globals";
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { pastSlotEnds } from "../../src/schedule/pastSlots.ts";
import { jobOf } from "../collect/jobOf.ts";
import { SLOT_ENDS } from "../support/slotEnds.ts";

type PastSlot = Parameters<ReturnType<typeof pastSlotEnds>>[0];

const nyse = createCalendar();

/** A slot of the ledger, and the ones beside it, as times in UTC. */
function past(job: string, slotAt: string, { previous = "", next = "" } = {}): PastSlot {
  const ms = (time: string): number | null => (time === "" ? null : Date.parse(time));
  return {
    ...{ job, simulated: false, slotMs: Date.parse(slotAt) },
    ...{ previousMs: ms(previous), nextMs: ms(next) },
  };
}

const over = (slot: PastSlot, schedule = "*/5 * * * *"): string => {
  const jobs = [jobOf({ name: "list", schedule, session: "regular" })];
  return new Date(pastSlotEnds(jobs, nyse)(slot)).toISOString().slice(0, 19);
};

test.each(SLOT_ENDS)(
  "a slot of the ledger ends when the collector's slot does, whatever else is in the ledger: $name",
  (slot) => {
    const jobs = [jobOf({ ...slot, name: "list" })];

    expect(new Date(pastSlotEnds(jobs, nyse)(past("list", slot.slotAt)))).toEqual(new Date(slot.endsAt));
  },
);

test("a slot of the ledger ends when the next one in the ledger begins, though the job's file says a later one now", () => {
  const next = "2026-01-15T17:02:00Z";

  expect(over(past("list", "2026-01-15T17:00:00Z", { next }))).toBe("2026-01-15T17:02:00");
});

test("a slot ends by the ledger alone where the job's file is gone, or has no such slot", () => {
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
  "a slot of a deleted job ends with its part of the trading day where no other slot came: %s",
  (_, at, end) => {
    expect(over(past("gone", at, { next: "2027-01-15T14:00:00Z" }))).toBe(end);
  },
);

test("a slot of the simulated market ends at midnight in New York, whatever the session of its job", () => {
  const slot = { ...past("list", "2026-01-17T17:00:00Z"), simulated: true };

  expect(over(slot, "0 12 * * *")).toBe("2026-01-18T05:00:00");
});
