/**
 * Many batches of a journal's segment as the rows they become, ready for one transaction: what is kept of them is lines
 * of text, and their quotes are forgotten. What a transaction and a statement cost whatever they hold is paid once for
 * all of them, above all the session bars and the directory of instruments: a journal names the same ones again and
 * again. Pure.
 */
import { type QuoteLines, quoteLines } from "../../archive/copyQuotes.ts";
import { addChangedWords, type DividendWords } from "../../archive/dividends.ts";
import { type ResponseRow, responseRow } from "../../archive/insert.ts";
import { addAllSeen, type PlacedInstruments, type SeenInstruments } from "../../archive/instruments.ts";
import { type Batch, NOTHING_LOADED } from "../../archive/batch.ts";
import type { JournaledNote } from "../../archive/loadNotes.ts";
import type { PlacedUnit } from "../../read/quoteColumns.ts";
import type { DeadLetter } from "../../read/rowTypes.ts";
import { type BackfillReport, NOTHING_DONE, withBatch } from "../report.ts";

/** Numbers of a batch's sources, one for each answer, and of its instruments, one for each unit. */
export type Placing = { sourceIds: readonly number[]; instruments: PlacedInstruments };

/** Batches that follow each other. */
export class Stretch {
  readonly segment: string;
  readonly from: number;
  to: number;
  readonly responses: ResponseRow[] = [];
  readonly lines: QuoteLines[] = [];
  readonly dividends: DividendWords = new Map();
  readonly letters: (DeadLetter & { sourceId: number })[] = [];
  readonly notes: JournaledNote[] = [];
  readonly seen: SeenInstruments = new Map();
  /** What storing it adds to a run's report if all of it is new; without dividends and slots, which the archive counts. */
  report: BackfillReport = NOTHING_DONE;
  /** False: a quote came behind a later one of its series, and its dividend may be wanted. */
  isInOrder = true;

  /** Begins where a batch does. */
  constructor({ segment, from }: Pick<Batch, "segment" | "from">) {
    this.segment = segment;
    this.from = from;
    this.to = from;
  }

  /** Takes in the next batch. */
  add({ answers, notes, to }: Batch, { sourceIds, instruments }: Placing): void {
    const placed: PlacedUnit[] = [];
    answers.forEach((answer, place) => {
      const sourceId = sourceIds[place] ?? 0;
      this.responses.push(responseRow({ ...answer, sourceId }));
      for (const letter of answer.deadLetters) this.letters.push({ ...letter, sourceId });
      for (const unit of answer.units)
        placed.push({ unit, sourceId, instrumentId: instruments.ids[placed.length] ?? 0 });
    });
    for (const one of placed) this.lines.push(quoteLines(one));
    if (!addChangedWords(this.dividends, placed)) this.isInOrder = false;
    addAllSeen(this.seen, instruments.seen);
    this.notes.push(...notes);
    const quotes = placed.length;
    this.report = withBatch(
      this.report,
      { answers },
      { ...NOTHING_LOADED, responses: answers.length, quotes },
    );
    this.to = to;
  }
}
