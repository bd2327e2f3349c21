/** The notes of the ledger in the journal: what was due, what came of it, and why not. */
import { z } from "zod";
import type { Instant } from "../ground/clock.ts";
import { DEFAULT_ACCOUNT } from "./record.ts";

/** Why an instrument that was due has no quote (design, section 7). */
export const MISS_REASONS = [
  /** The session had closed before the call could leave. */
  "closed",
  /** Other calls used up the minute's budget until the next slot came. */
  "budget",
  /** Earlier calls took until the next slot came. */
  "overrun",
  "refused",
  /** The service does not know the instrument, or did not lately and is retried less and less often. */
  "unknown_symbol",
  /** The answer was whole and did not hold the instrument. */
  "absent_from_answer",
  /** The instrument's part of the answer, or the whole answer, could not be read. */
  "malformed",
  /** No answer arrived, or only a fault of the service's own. */
  "transport",
  /** The service does not accept the credentials. */
  "unauthorized",
  /** The service wants a person to log in, and nobody had. */
  "login",
  /** The collector did not run for a part of the slot, was ended, or could not keep the answer. */
  "down",
] as const;

export type MissReason = (typeof MISS_REASONS)[number];

/** An account's share of one slot of one job, once all of it is settled: due = stored + missed. */
export type SlotEntry = {
  job: string;
  slotAt: Instant;
  /** The share's account; absent: `DEFAULT_ACCOUNT`. */
  account?: string;
  /** Names of all due instruments, each once. */
  due: string[];
  misses: [instrument: string, reason: MissReason][];
};

/** The market of a slot's quotes: a simulated slot never stands for a real one. */
export type LedgerSource = "account" | "simulated";

export type SlotsNote = { type: "slots"; source?: LedgerSource; run?: string; entries: SlotEntry[] };

/** What is due in an account's share of a slot; without an account, in that of `DEFAULT_ACCOUNT`. */
export type Share = { account?: string; due: string[] };

/** The shares of a slot, one of them the note's own: all are in one record, so that a kill leaves all or none. */
type Shares = Share & { others?: Share[] };

/** Slots of a job that passed while nothing ran: all that was due was missed. */
export type DownNote = Shares & {
  type: "down";
  source?: LedgerSource;
  job: string;
  slots: Instant[];
};

/**
 * A slot that has begun, and what is due at it. When no `slots` note follows, the run was killed within the slot: the
 * next run settles the slot by the answers that were asked for within it.
 */
type OpenedNote = Shares & {
  type: "opened";
  source?: LedgerSource;
  /** The run of the collector, a UUID. */
  run: string;
  job: string;
  slotAt: Instant;
  endsAt: Instant | null;
};

/** See `schedule/clockSteps.ts`. */
export const CLOCK_STEP_KINDS = ["set_back", "set_forward", "slept", "stopped"] as const;

/**
 * The wall clock was set (by how many ms; below 0: back), or the machine slept or the program could not run (for how
 * many).
 */
export type ClockStep = { kind: (typeof CLOCK_STEP_KINDS)[number]; stepMs: number };

/** `at`: the wall clock when the step was noticed, so after the step. */
type ClockNote = ClockStep & { type: "clock"; source?: LedgerSource; at: Instant };

export type LedgerNote = OpenedNote | SlotsNote | DownNote | ClockNote;

/** The shares as a note holds them. With a single account the note is the one that there was before there were several. */
export function asShares(shares: readonly Share[]): Shares {
  const [first = { due: [] }, ...others] = shares.map(({ account, due }): Share => ({
    ...(account !== undefined && account !== DEFAULT_ACCOUNT && { account }),
    due,
  }));
  return others.length === 0 ? first : { ...first, others };
}

export function sharesIn({ account, due, others = [] }: Shares): Share[] {
  return [{ ...(account !== undefined && { account }), due }, ...others];
}

/** The name of a one-off job in the journal; no job file can have one with a colon. */
const ONCE = "once:";
export const onceName = ({ name }: { name: string }): string => `${ONCE}${name}`;
export const isOnceName = (job: string): boolean => job.startsWith(ONCE);

export function isLedgerNote(note: unknown): note is LedgerNote {
  const type = (note as { type?: unknown } | null)?.type;
  return type === "opened" || type === "slots" || type === "down" || type === "clock";
}

const names = z.array(z.string());
const source = z.enum(["account", "simulated"]).optional();
const account = z.string().optional();
const slot = { job: z.string(), slotAt: z.string(), account };
const others = z.array(z.object({ account, due: names })).optional();

/** What a note of each type must have to be loaded; the database says whether its times are times. */
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

/** What a note of another version, or one written by hand, lacks; null: nothing. */
export function lackOf(note: unknown): string | null {
  const read = WHOLE_NOTE.safeParse(note);
  if (read.success) return null;
  const [issue] = read.error.issues;
  return `${issue?.path.join(".")}: ${issue?.message}`;
}

/**
 * Merges two entries of one job, slot, source and account: of a run that ended within the slot and the one that took it
 * up, or of the two passes that a clock which was set back gives it. Due is what either was due to poll, stored what
 * either stored. Of two reasons `down` yields to the more exact one; else the first in the order of the alphabet stays,
 * so that the order of loading does not matter.
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
