/** What the journal has of a job that is polled once: answers, what became of each instrument, and what went wrong. */
import type { Instant } from "../../ground/clock.ts";
import { type ErrorCode, ERRORS, QuotekeeperError } from "../../ground/errors.ts";
import { isLedgerNote, type MissReason, sharesIn } from "../../journal/ledger.ts";
import { readSegment } from "../../journal/reader.ts";
import type { JournalRecord, ResponseRecord } from "../../journal/record.ts";
import { mayHold } from "../../journal/segmentName.ts";
import { listSegments } from "../../journal/segments.ts";
import type { Answer } from "../../quotes/answer.ts";
import { askedInstruments, type QuoteCall } from "../../quotes/call.ts";
import { matchCall } from "../../quotes/match.ts";
import { namesOf } from "../../collect/asks.ts";
import { decidedFates, ReadPages } from "../../collect/pages.ts";
import { isPendingChain } from "../../collect/waitingChains.ts";
import { answerOf } from "../../services/registry.ts";

/** A call that brought no answer, or (`over`) why the job was not taken; without a code: why its calls wait. */
export type OnceNote = {
  type: "once";
  job: string;
  slotAt: Instant;
  code: ErrorCode | null;
  detail: string;
  over: boolean;
};

export type OnceAnswer = { record: ResponseRecord; answer: Answer; segment: string; offset: number };

/** What an answer said of an instrument for good. */
type AnsweredFate = "stored" | "unknown" | "absent" | "dead";

export class OnceJournal {
  readonly #dir: string;
  readonly #slot: { job: string; slotAt: Instant };
  readonly #onAnswer: (answer: OnceAnswer) => void;
  #reading: Promise<void> = Promise.resolve();
  /** How far each segment was read. */
  readonly #ends = new Map<string, number>();
  readonly fates = new Map<string, AnsweredFate>();
  /** Whether each page of what is one thing in the ledger held some of it. */
  readonly #pages = new ReadPages<boolean>();
  /** By name, of what was settled without a quote last. */
  readonly misses = new Map<string, MissReason>();
  readonly failures: QuotekeeperError[] = [];
  /** Why calls waited, as it was said. */
  readonly waits: string[] = [];
  /** All names that were due, as they were said last. */
  readonly due = new Set<string>();
  /** Why the job was not taken; null: it was, or nobody has looked at it. */
  refused: QuotekeeperError | null = null;

  /** @param onAnswer told of each answer, once, in the journal's order */
  constructor(dir: string, slot: { job: string; slotAt: Instant }, onAnswer: (answer: OnceAnswer) => void) {
    this.#dir = dir;
    this.#slot = slot;
    this.#onAnswer = onAnswer;
  }

  /** Takes in what has come since; one look after the other. @throws QuotekeeperError JOURNAL_UNREADABLE */
  read(): Promise<void> {
    return (this.#reading = this.#reading.then(() => this.#read()));
  }

  async #read(): Promise<void> {
    const isNear = mayHold({ from: this.#slot.slotAt, to: null });
    for (const { name } of (await listSegments(this.#dir)).filter(isNear))
      for await (const item of readSegment(this.#dir, name, {
        from: this.#ends.get(name) ?? 0,
        mayBeGone: true,
      }))
        if (item.kind === "end") this.#ends.set(name, item.end);
        else if (item.kind === "record") this.#take(item.record, { segment: name, offset: item.offset });
  }

  #take(record: JournalRecord, place: { segment: string; offset: number }): void {
    const { job, slotAt } = this.#slot;
    const isOurs = (slot: { job: string; slotAt: Instant | null }): boolean =>
      slot.job === job && slot.slotAt === slotAt;
    if (record.kind === "response") {
      if (!isOurs({ job: record.jobs[0] ?? "", slotAt: record.slotAt })) return;
      const answer = answerOf(record);
      this.#onAnswer({ record, answer, ...place });
      return this.#match(record.request as QuoteCall, answer);
    }
    const { note } = record;
    if (isOnceNote(note)) {
      if (!isOurs(note)) return;
      if (note.code === null) return void this.waits.push(note.detail);
      const error = new QuotekeeperError(note.code, note.detail);
      if (note.over) this.refused = error;
      else this.failures.push(error);
    } else if (isLedgerNote(note) && note.type === "opened" && isOurs(note)) {
      // Their contracts are due in place of chains that waited.
      for (const name of this.due) if (isPendingChain(name)) this.due.delete(name);
      for (const { due } of sharesIn(note)) for (const name of due) this.due.add(name);
    }
    if (isLedgerNote(note) && note.type === "slots")
      for (const { due, misses, ...slot } of note.entries)
        if (isOurs(slot)) {
          for (const name of due) this.misses.delete(name);
          for (const [name, reason] of misses) this.misses.set(name, reason);
        }
  }

  #match(call: QuoteCall, answer: Answer): void {
    if (answer.outcome !== "quotes") return;
    const settle = (name: string, fate: AnsweredFate): void =>
      void (this.fates.has(name) || this.fates.set(name, fate));
    const { document } = answer;
    const matched = matchCall(call, document.items);
    if (askedInstruments(call) !== null) {
      for (const { name, fate } of decidedFates(matched, document)) if (name !== null) settle(name, fate);
      return;
    }
    const isList = call.form === "expirations";
    const isThere = isList
      ? (document.expirations ?? []).length > 0
      : matched.some(({ fate }) => fate === "stored");
    const pages = this.#pages.add(call, document, [isThere]);
    if (pages === null) return;
    for (const name of namesOf(call))
      settle(name, pages.includes(true) ? "stored" : isList ? "unknown" : "absent");
  }
}

function isOnceNote(note: unknown): note is OnceNote {
  const { type, code, detail } = (note ?? {}) as Partial<OnceNote>;
  return type === "once" && typeof detail === "string" && (code === null || (code ?? "") in ERRORS);
}
