/** Jobs at their slots, as planning is given them. */
import type { DueJob } from "../../src/collect/asks.ts";
import { instantFromDate } from "../../src/ground/clock.ts";
import type { OptionContract } from "../../src/market/instrument.ts";

export const MINUTE_MS = 60_000;

/** `S1`, `S2` ... */
export function symbolsNamed(count: number, letter = "S"): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

/** Calls of one expiration with the strikes 1, 2 ... */
export function contractsOf(count: number, underlying = "AAPL"): OptionContract[] {
  return Array.from({ length: count }, (_, index) => ({
    underlying,
    expiration: "2026-12-18",
    optionType: "CALL",
    strike: String(index + 1),
  }));
}

/** What is said of a job at a slot; the rest is usual: a minute's slot that the next one ends. */
export type DueDescription = {
  name: string;
  slotMs?: number;
  deadlineMs?: number;
  closes?: boolean;
  priority?: number;
  delayed?: boolean;
  symbols?: readonly string[];
  contracts?: readonly OptionContract[];
  watchlist?: string | null;
};

export const SLOT_MS = Date.parse("2026-11-20T14:30:00Z");

export function dueJob({
  name,
  slotMs = SLOT_MS,
  deadlineMs = slotMs + MINUTE_MS,
  closes = false,
  priority = 0,
  delayed = false,
  symbols = [],
  contracts = [],
  watchlist = null,
}: DueDescription): DueJob {
  return {
    job: { name, priority, delayed, watchlist },
    slotAt: instantFromDate(new Date(slotMs)),
    ...{ deadlineMs, closes, symbols, contracts },
  };
}
