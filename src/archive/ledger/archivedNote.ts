/** Notes of older versions by the archive's names: they have BRK/B where it has BRK.B. Pure. */
import { type LedgerNote, mergeEntries, type SlotEntry } from "../../journal/ledger.ts";
import { archivedName } from "../../market/root.ts";

export function archivedNote(note: LedgerNote): LedgerNote {
  if (note.type === "clock") return note;
  if (note.type === "slots") return { ...note, entries: note.entries.map(archivedEntry) };
  const others = note.others?.map((share) => ({ ...share, due: archivedNames(share.due) }));
  return { ...note, due: archivedNames(note.due), ...(others && { others }) };
}

/** Two names of one instrument are merged as two entries of the slot are: it is stored where one of them is. */
function archivedEntry(entry: SlotEntry): SlotEntry {
  if (!entry.due.some(isOld)) return entry;
  const part = (old: boolean): SlotEntry => ({
    ...entry,
    due: archivedNames(entry.due.filter((name) => isOld(name) === old)),
    misses: entry.misses.flatMap(([name, reason]): SlotEntry["misses"] =>
      isOld(name) === old ? [[archivedName(name), reason]] : [],
    ),
  });
  return mergeEntries(part(false), part(true));
}

function isOld(name: string): boolean {
  return archivedName(name) !== name;
}

function archivedNames(names: string[]): string[] {
  return names.some(isOld) ? [...new Set(names.map(archivedName))] : names;
}
