/** Notes of the ledger, and putting them into an archive. */
import type pg from "pg";
import { inTransaction } from "../../src/archive/connect/transaction.ts";
import { insertLedger } from "../../src/archive/ledger/ledgerRows.ts";
import { type Instant, instantFromDate } from "../../src/ground/clock.ts";
import type { LedgerNote, MissReason } from "../../src/journal/ledger.ts";
import type { JournalRecord } from "../../src/journal/record.ts";

/** A time on Friday 20 November 2026, UTC: `14:30` or `14:30:20`. */
export const on20th = (time: string): Date => new Date(`2026-11-20T${time.padEnd(8, ":00")}Z`);

/** The same as the journal and the database write it. */
export const instantOn20th = (time: string): Instant => instantFromDate(on20th(time));

/**
 * A settled slot. Without an account it is one as journals of a single account have it.
 *
 * @param at as of `on20th`, or any time
 * @param misses reasons by instrument
 */
export function slotNote(
  at: string | Date,
  due: string[],
  misses: Record<string, MissReason> = {},
  { job = "list", ...more }: { job?: string; account?: string } = {},
): LedgerNote {
  const slotAt = instantFromDate(typeof at === "string" ? on20th(at) : at);
  return { type: "slots", entries: [{ job, slotAt, due, misses: Object.entries(misses), ...more }] };
}

/** Misses as notes have them, each told as `instrument reason`. */
export const missed = (...misses: string[]): [string, MissReason][] =>
  misses.map((miss) => {
    const at = miss.lastIndexOf(" ");
    return [miss.slice(0, at), miss.slice(at + 1) as MissReason];
  });

/** A settled slot as a journal has it. @param misses as of `missed` */
export function settled(
  at: Instant,
  slotAt: Instant,
  due: string[],
  misses: string[] = [],
  { job = "us-equities", ...more }: { job?: string; account?: string } = {},
): JournalRecord {
  const entries = [{ job, slotAt, due, misses: missed(...misses), ...more }];
  return { kind: "note", at, note: { type: "slots", entries } };
}

/** @returns how many slots were not there before */
export function insertNotes(pool: pg.Pool, ...notes: LedgerNote[]): Promise<number> {
  return inTransaction(pool, (client) => insertLedger(client, notes));
}
