/** The ledger's notes of a batch: one that cannot become rows costs itself alone. */
import { createHash } from "node:crypto";
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import { lackOf, type LedgerNote } from "../../journal/ledger.ts";
import { archivedNote } from "../ledger/archivedNote.ts";
import type { SourcedLetter } from "./insert.ts";
import { LEDGER_SOURCE_IDS } from "../ledger/ledgerNames.ts";
import { insertLedger } from "../ledger/ledgerRows.ts";
import { missRefused, type SettledSlot } from "../ledger/refusedRows.ts";
import { isOfItsRow, mayBeOfARow } from "../connect/whoseFault.ts";
import { undo } from "../connect/transaction.ts";
import { cutText } from "../../ground/outsideText.ts";

/** A note of the ledger as the journal has it: `at` is when it was written. */
export type JournaledNote = { at: Instant; note: LedgerNote };

type LoadedNotes = {
  /** Slots that were not there before. */
  slots: number;
  refused: SourcedLetter[];
};

/** Most characters of a refused note that are kept with it; the journal has all of it. */
const FRAGMENT_CHARS = 4_000;

/**
 * Inserts all notes in a savepoint; when one of them may be to blame for an error, each in a savepoint of its own.
 *
 * @throws the database's errors that are no fault of a note
 */
export async function loadNotes(
  client: pg.ClientBase,
  given: readonly JournaledNote[],
): Promise<LoadedNotes> {
  const notes = given.filter(({ note }) => lackOf(note) === null);
  const loaded: LoadedNotes = { slots: 0, refused: [] };
  const whole = notes.length === 0 ? loaded : await attempt(client, notes);
  for (const note of given) {
    const lack = lackOf(note.note);
    if (lack !== null) loaded.refused.push(refusedLetter(note, lack));
    else if ("error" in whole) await loadAlone(client, note, loaded);
  }
  return "error" in whole ? loaded : { ...loaded, slots: whole.slots };
}

async function loadAlone(client: pg.ClientBase, note: JournaledNote, loaded: LoadedNotes): Promise<void> {
  const one = await attempt(client, [note]);
  if ("slots" in one) loaded.slots += one.slots;
  else if (isOfItsRow(one.error))
    loaded.refused.push(refusedLetter(note, `${one.error.code}: ${one.error.message}`));
  else throw one.error;
}

async function attempt(
  client: pg.ClientBase,
  given: readonly JournaledNote[],
): Promise<{ slots: number } | { error: unknown }> {
  const notes = given.map(({ at, note }) => ({ at, note: archivedNote(note) }));
  await client.query("savepoint notes");
  try {
    const slots = await insertLedger(
      client,
      notes.map(({ note }) => note),
    );
    await missRefused(client, notes.flatMap(settledSlots));
    await client.query("release savepoint notes");
    return { slots };
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    await undo(client, "notes", error);
    return { error };
  }
}

function settledSlots({ at, note }: JournaledNote): SettledSlot[] {
  if (note.type !== "slots") return [];
  const { source = "account" } = note;
  return note.entries.map((entry) => ({ source, entry, settledAt: at }));
}

function refusedLetter({ at, note }: JournaledNote, why: string): SourcedLetter {
  const text = JSON.stringify(note);
  return {
    observedAt: at,
    sourceId: LEDGER_SOURCE_IDS[note.source ?? "account"] ?? LEDGER_SOURCE_IDS.account,
    ordinal: ordinalOf(text),
    instrument: null,
    reason: "refused_by_database",
    detail: `a note of the ledger: ${why}`,
    fragment: cutText(text, FRAGMENT_CHARS),
  };
}

/**
 * The same for the same note, in whatever batch it comes; below zero, because the ordinals from zero on are those of an
 * answer that arrived at the same time.
 */
function ordinalOf(text: string): number {
  return -1 - (createHash("sha256").update(text).digest().readUInt32BE(0) >>> 1);
}
