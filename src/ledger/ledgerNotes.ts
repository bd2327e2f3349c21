/** Carries the ledger's notes to the journal, in order; what cannot be written now is kept and tried with the next. */
import { type Clock, instantFromDate } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { LedgerNote, LedgerSource } from "../journal/ledger.ts";
import type { Journal } from "../journal/writer.ts";

/** Notes kept while the journal cannot be written; beyond it the oldest go, and are counted. */
const MAX_KEPT = 10_000;

export type NoteWriter = {
  write: (note: LedgerNote) => void;
  /** Resolves when all that was written is in the journal or cannot be. */
  flush: () => Promise<void>;
  /** How many are not in the journal yet. */
  waiting: () => number;
};

type NoteOptions = {
  clock: Pick<Clock, "now">;
  /** Which market a note is of that does not say it: that of its account. */
  source: (account: string | undefined) => LedgerSource;
  onKept: (segment: string) => void;
  onLost: (count: number) => void;
};

/** Notes are written in the background, in order. */
export function createNoteWriter(
  journal: Pick<Journal, "append">,
  { clock, source, onKept, onLost }: NoteOptions,
): NoteWriter {
  let kept: LedgerNote[] = [];
  let writing: Promise<void> = Promise.resolve();

  const drain = async (): Promise<void> => {
    while (kept.length > 0) {
      const [note] = kept;
      if (!note) break;
      try {
        const { segment } = await journal.append({ kind: "note", at: instantFromDate(clock.now()), note });
        kept.shift();
        onKept(segment);
      } catch (error) {
        const hopeless = error instanceof QuotekeeperError && error.code === "JOURNAL_RECORD_TOO_LARGE";
        // The journal has reported why; the next note tries again.
        if (!hopeless) break;
        // It would hold up all notes after it for ever.
        kept.shift();
        onLost(1);
      }
    }
    if (kept.length > MAX_KEPT) {
      onLost(kept.length - MAX_KEPT);
      kept = kept.slice(-MAX_KEPT);
    }
  };

  return {
    write: (note) => {
      kept.push({ ...note, source: note.source ?? source(accountIn(note)) });
      writing = writing.then(drain);
    },
    flush: () => (writing = writing.then(drain)),
    waiting: () => kept.length,
  };
}

/** The account of a note; entries of one note are one account's. */
function accountIn(note: LedgerNote): string | undefined {
  if (note.type === "clock") return undefined;
  return note.type === "slots" ? note.entries[0]?.account : note.account;
}
