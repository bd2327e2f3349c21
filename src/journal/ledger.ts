/** The notes of the ledger, as the journal keeps them: what was due, what came of it, and why not. */
import { z } from "zod";
import type { Instant } from "../clock.ts";
import { DEFAULT_ACCOUNT } from "./record.ts";

/** Why an instrument that was due has no quote (design, section 7). */
export const MISS_REASONS = [
  /** The session had closed before the call could leave. */
  "closed",
  /** The calls of the minute were used up until the next slot came. */
  "budget",
  /** The calls before it took until the next slot came. */
  "overrun",
  /** The service refused the call. */
  "refused",
  /** The service does not know the instrument, or did not lately and is retried less and less often. */
  "unknown_symbol",
  /** The answer was whole, and did not hold it. */
  "absent_from_answer",
  /** Its part of the answer, or the whole answer, could not be read. */
  "malformed",
  /** No answer arrived, or only a fault of the service's own. */
  "transport",
  /** The service does not accept the credentials. */
  "unauthorized",
  /** The collector was not running for a part of the slot, was ended, or could not keep the answer. */
  "down",
] as const;

/** One of them. */
export type MissReason = (typeof MISS_REASONS)[number];

/** What an account was due to poll at one slot of one job, its share, when all of it is settled: due = stored + missed. */
export type SlotEntry = {
  job: string;
  slotAt: Instant;
  /** Whose share it is; absent: that of `DEFAULT_ACCOUNT`. */
  account?: string;
  /** Names of all instruments that were due, each once. */
  due: string[];
  /** Those of them that have no quote. */
  misses: [instrument: string, reason: MissReason][];
};

/** Which market a slot's quotes come from: a simulated slot never stands for a real one. */
export type LedgerSource = "account" | "simulated";

/**
 * Slots that are settled. `source` is added where the note is written; without it, it is an account's. `run` is the run
 * that has opened them, if any did.
 */
export type SlotsNote = { type: "slots"; source?: LedgerSource; run?: string; entries: SlotEntry[] };

/** What is due in an account's share of a slot; without an account, in that of `DEFAULT_ACCOUNT`. */
export type Share = { account?: string; due: string[] };

/** The shares of a slot, of which one is the note's own: all are in one record, so that a kill leaves all of them or none. */
type Shares = Share & { others?: Share[] };

/** Slots of a job that passed while nothing ran: all that was due was missed at each of them. */
export type DownNote = Shares & {
  type: "down";
  source?: LedgerSource;
  job: string;
  slots: Instant[];
};

/**
 * A slot that has begun, and what is due at it. When no `slots` note follows, the run was killed in its midst: the next
 * one settles it by the answers that were asked for within it.
 */
type OpenedNote = Shares & {
  type: "opened";
  source?: LedgerSource;
  /** The run of the collector, a UUID. */
  run: string;
  job: string;
  slotAt: Instant;
  /** When it is over; null when no other one comes. */
  endsAt: Instant | null;
};

/** What can be amiss between two looks at the machine's clocks; see `schedule/clockSteps.ts`. */
export const CLOCK_STEP_KINDS = ["set_back", "set_forward", "slept", "stopped"] as const;

/** The wall clock was set (by how many ms; below 0: back), or the machine slept or the program could not run (for how many). */
export type ClockStep = { kind: (typeof CLOCK_STEP_KINDS)[number]; stepMs: number };

/** A step of the machine's clock; `at`: what the wall clock said when it was noticed, so after the step. */
export type ClockNote = ClockStep & { type: "clock"; source?: LedgerSource; at: Instant };

/** A note of the ledger. */
export type LedgerNote = OpenedNote | SlotsNote | DownNote | ClockNote;

/** Shares as a note bears them; who has one account has the notes that there were before there were several. */
export function asShares(shares: readonly Share[]): Shares {
  const [first = { due: [] }, ...others] = shares.map(({ account, due }): Share => ({
    ...(account !== undefined && account !== DEFAULT_ACCOUNT && { account }),
    due,
  }));
  return others.length === 0 ? first : { ...first, others };
}

/** The shares of a note. */
export function sharesIn({ account, due, others = [] }: Shares): Share[] {
  return [{ ...(account !== undefined && { account }), due }, ...others];
}

/** Whether the content of a journal's note is one of the ledger. */
export function isLedgerNote(note: unknown): note is LedgerNote {
  const type = (note as { type?: unknown } | null)?.type;
  return type === "opened" || type === "slots" || type === "down" || type === "clock";
}

const names = z.array(z.string());
const source = z.enum(["account", "simulated"]).optional();
const account = z.string().optional();
const slot = { job: z.string(), slotAt: z.string(), account };
const others = z.array(z.object({ account, due: names })).optional();

/** What a note of each type must have, for its loading; whether its times are times the database says. */
const WHOLE_NOTE = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("opened"),
    source,
    ...slot,
    run: z.string(),
    endsAt: z.string().nullable(),
    due: names,
    others,
  }),
  z.object({
    type: z.literal("slots"),
    source,
    entries: z.array(z.object({ ...slot, due: names, misses: z.array(z.tuple([z.string(), z.string()])) })),
  }),
  z.object({ type: z.literal("down"), source, account, job: z.string(), slots: names, due: names, others }),
  z.object({ type: z.literal("clock"), source, at: z.string(), kind: z.string(), stepMs: z.number() }),
]);

/** What a note lacks that its type has: another version's, or one that somebody wrote by hand; null: nothing. */
export function lackOf(note: unknown): string | null {
  const read = WHOLE_NOTE.safeParse(note);
  if (read.success) return null;
  const [issue] = read.error.issues;
  return `${issue?.path.join(".")}: ${issue?.message}`;
}

/**
 * One entry of a share from two: of a run that ended in the midst of the slot and the one that took it up, or of the two
 * passes that a clock which was set back gives it. Both are of one job, slot, source and account. Due is what either was
 * due to poll, stored what either stored. Of two reasons `down` yields to what is more exact; else the first in the order
 * of the alphabet stays, so that the order in which entries are loaded tells nothing.
 */
export function mergeEntries(a: SlotEntry, b: SlotEntry): SlotEntry {
  const due = [...new Set([...a.due, ...b.due])];
  const reasonsOf = ({ due: own, misses }: SlotEntry): ReadonlyMap<string, MissReason | null> =>
    new Map([...own.map((name): [string, null] => [name, null]), ...misses]);
  const [first, second] = [reasonsOf(a), reasonsOf(b)];
  const misses = due.flatMap((name): SlotEntry["misses"] => {
    const reasons = [first, second].flatMap((entry) => (entry.has(name) ? [entry.get(name) ?? null] : []));
    if (reasons.includes(null)) return [];
    const exact = reasons.filter((reason) => reason !== "down").sort();
    return [[name, exact[0] ?? "down"]];
  });
  return { ...a, due, misses };
}
