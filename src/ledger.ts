/** The notes of the ledger, as the journal keeps them: what was due, what came of it, and why not. */
import type { Instant } from "./instant.ts";

/** Why an instrument that was due has no quote (design, section 7). */
export type MissReason =
  /** The session had closed before the call could leave. */
  | "closed"
  /** The calls of the minute were used up until the next slot came. */
  | "budget"
  /** The calls before it took until the next slot came. */
  | "overrun"
  /** The service refused the call. */
  | "refused"
  /** The service does not know the instrument, or has not lately and is asked again more and more seldom. */
  | "unknown_symbol"
  /** The answer was whole, and did not hold it. */
  | "absent_from_answer"
  /** Its part of the answer, or the whole answer, could not be read. */
  | "malformed"
  /** No answer arrived, or only a fault of the service's own. */
  | "transport"
  /** The service does not accept the credentials. */
  | "unauthorized"
  /** The collector was not running, was ended, or could not keep the answer. */
  | "down";

/** One slot of one job, when all of it is settled: due = stored + missed. */
export type SlotEntry = {
  job: string;
  slotAt: Instant;
  /** Names of all instruments that were due, each once. */
  due: string[];
  /** Those of them that have no quote. */
  misses: [instrument: string, reason: MissReason][];
};

/** Which market a slot's quotes come from: a simulated slot never stands for a real one. */
export type LedgerSource = "account" | "simulated";

/** Slots that are settled. `source` is added where the note is written; without it, it is an account's. */
export type SlotsNote = { type: "slots"; source?: LedgerSource; entries: SlotEntry[] };

/** Slots of a job that passed while nothing ran: all of `due` was missed at each of them. */
export type DownNote = { type: "down"; source?: LedgerSource; job: string; slots: Instant[]; due: string[] };

/** A note of the ledger. */
export type LedgerNote = SlotsNote | DownNote;

/** Whether the content of a journal's note is one of the ledger. */
export function isLedgerNote(note: unknown): note is LedgerNote {
  const type = (note as { type?: unknown } | null)?.type;
  return type === "slots" || type === "down";
}
