/**
 * Loads a journal, live and again: its batches gather in a stretch, which one transaction stores while the next one
 * gathers. Live a stretch is the answer that has just come; of a replay it is 16 MB. What is as expected goes in without
 * a question: instruments and sources that are remembered, quotes that are new. Whatever is not as expected, a quote
 * that is there already or one that the database refuses, is left to `loadBatch`: the stretch is read again, batch by batch.
 */
import type pg from "pg";
import { type Batch, countsOf, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { copyQuoteLines, type QuoteLines, quoteLines } from "./copyQuotes.ts";
import { addChangedWords, type DividendWords, insertDividends } from "./dividends.ts";
import {
  insertDeadLetters,
  insertResponses,
  type ResponseRow,
  responseRow,
  type SourcedLetter,
} from "./insert.ts";
import {
  addAllSeen,
  placeAndRemember,
  type PlacedInstruments,
  placeFromMemory,
  placeSources,
  refreshInstruments,
  type SeenInstruments,
  sourceText,
} from "./instruments.ts";
import { KnownInstruments } from "./knownInstruments.ts";
import { addCounts, addLetterCounts, countLetters } from "./letterCounts.ts";
import { createMemory, ensureRoom, isPassing, loadBatch, strangeMonths } from "./loadBatch.ts";
import { type JournaledNote, loadNotes } from "./loadNotes.ts";
import type { LoadPosition, Stretch } from "./loadPosition.ts";
import { READ_ONLY, mayBeOfARow, mayBeThereAlready, sqlstateOf } from "./databaseError.ts";
import type { PlacedUnit } from "./quoteColumns.ts";

/** Bytes of a segment, uncompressed, that one transaction takes in: some 14,000 quotes. */
const STRETCH_BYTES = 16 * 1024 * 1024;

/** Bodies of a batch that comes in, in bytes. Two batches are in memory at a time; larger ones are no faster. */
export const GATHERED_BATCH_BYTES = 512 * 1024;

/** What a loader of batches needs. */
type BatchLoaderOptions = {
  pool: pg.Pool;
  /** How far this load has come. */
  position: LoadPosition;
  /** Whether a batch is left to `loadBatch` from the first; default: none is but those that restore an export. */
  alone?: (batch: Batch) => boolean;
  /** Reads a segment again from a place on, cut into the same batches. */
  reread: (segment: string, from: number) => AsyncIterable<Batch>;
  /** Told of each load that was committed, in order. */
  onLoaded: (report: LoadReport) => void;
};

/** The position is not where a batch begins: another program has loaded it. */
export class LoadedByAnother extends Error {
  override readonly name = "LoadedByAnother";
  readonly at: Pick<Batch, "segment" | "from">;

  constructor({ segment, from }: Pick<Batch, "segment" | "from">) {
    super(`${segment} was loaded beyond byte ${from} by another program`);
    this.at = { segment, from };
  }
}

/** A stretch on its way into the archive; `done` tells whether it came there. */
type Storing = { stretch: Gathered; done: Promise<boolean> };

/** Batches come in (`add`) and gather in a stretch; a full one is stored while the next one gathers. */
export class BatchLoader {
  readonly #options: BatchLoaderOptions;
  readonly #memory = createMemory();
  readonly #known = new KnownInstruments();
  readonly #sources = new Map<string, number>();
  #gathering: Gathered | null = null;
  /** The transaction of the stretch that gathers: it begins early when there are new instruments to add. */
  #client: pg.PoolClient | null = null;
  #storing: Storing | null = null;
  /** The segment of which something was there already: the rest of it most likely as well. */
  #repeated: string | null = null;

  constructor(options: BatchLoaderOptions) {
    this.#options = options;
  }

  /**
   * Takes in the next batch.
   *
   * @throws the database's errors, LoadedByAnother; what was committed before stays
   */
  async add(batch: Batch): Promise<void> {
    if (batch.answers.some(({ restored }) => restored !== undefined) || this.#options.alone?.(batch)) {
      // Rows with sources and numbers of their own: the ordinary loader knows what to do with them.
      await this.finish();
      return this.#loadAlone(batch);
    }
    const strange = strangeMonths(batch.answers, this.#memory).size > 0;
    // Partitions are made outside of any transaction that has rows: it would wait for itself.
    if (strange || (this.#gathering !== null && this.#gathering.segment !== batch.segment))
      await this.finish();
    if (this.#repeated === batch.segment) {
      await this.finish();
      return this.#loadAlone(batch);
    }
    if (strange) await this.#makeRoom(batch);
    const placing = this.#placeFromMemory(batch) ?? (await this.#place(batch));
    if (placing === null) return this.#loadAlone(batch);
    this.#gathering ??= new Gathered(batch);
    this.#gathering.add(batch, placing);
    if (this.#gathering.to - this.#gathering.from >= STRETCH_BYTES) await this.#store();
  }

  /** Stores what has come in. */
  async finish(): Promise<void> {
    await this.#store();
    await this.#settle();
  }

  /** Ends a load that has failed: what is not committed is undone. */
  async abandon(): Promise<void> {
    this.#gathering = null;
    await this.#undo();
    await this.#storing?.done.catch(() => undefined);
    this.#storing = null;
  }

  #placeFromMemory({ answers }: Batch): Placing | null {
    const sourceIds: number[] = [];
    for (const { record } of answers) {
      const id = this.#sources.get(sourceText(record.source));
      if (id === undefined) return null;
      sourceIds.push(id);
    }
    const instruments = placeFromMemory(
      answers.flatMap(({ units }) => units),
      this.#known,
    );
    return instruments && { sourceIds, instruments };
  }

  /** Asks the archive, in the transaction of the stretch. Null: the batch cannot be placed, for a reason in its data. */
  async #place(batch: Batch): Promise<Placing | null> {
    // One after the other: numbers that are given out in a transaction that fails are no numbers.
    await this.#settle();
    const { answers } = batch;
    try {
      const client = (this.#client ??= await this.#begin(this.#gathering ?? batch));
      const sources = answers.map(({ record }) => record.source);
      const sourceIds = await placeSources(client, sources);
      const units = answers.flatMap((answer) => answer.units);
      const instruments = await placeAndRemember(client, units, this.#known);
      sources.forEach((source, place) => this.#sources.set(sourceText(source), sourceIds[place] ?? 0));
      return { sourceIds, instruments };
    } catch (error) {
      const gathered = this.#gathering;
      this.#gathering = null;
      await this.#undo(error as Error);
      if (!isOfData(error)) throw error;
      if (gathered) await this.#loadOneByOne(gathered);
      return null;
    }
  }

  /** Sends the stretch that has gathered on its way, once the one before it has arrived. */
  async #store(): Promise<void> {
    await this.#settle();
    const [stretch, client] = [this.#gathering, this.#client];
    [this.#gathering, this.#client] = [null, null];
    if (stretch === null) return;
    this.#storing = { stretch, done: this.#storeStretch(stretch, client) };
    // Its failure is met when it settles.
    this.#storing.done.catch(() => undefined);
  }

  /** Waits for the stretch on its way; if it cannot go in as a whole, it and what has gathered behind it go in batch by batch. */
  async #settle(): Promise<void> {
    const storing = this.#storing;
    this.#storing = null;
    if (storing === null || (await storing.done)) return;
    const gathered = this.#gathering;
    this.#gathering = null;
    await this.#loadOneByOne(storing.stretch);
    // Its lines bear numbers that may have been given out in the transaction that was undone.
    if (gathered) await this.#loadOneByOne(gathered);
  }

  async #storeStretch(stretch: Gathered, begun: pg.PoolClient | null): Promise<boolean> {
    const { position, onLoaded } = this.#options;
    const client = begun ?? (await this.#begin(stretch));
    try {
      const isNew = (await insertResponses(client, stretch.responses)) === stretch.responses.length;
      const dividends = isNew && stretch.isInOrder ? await insertDividends(client, stretch.dividends) : null;
      if (dividends === null) {
        if (stretch.isInOrder) this.#repeated = stretch.segment;
        await this.#undo(undefined, client);
        return false;
      }
      await copyQuoteLines(client, stretch.lines);
      const { slots, refused } = await loadNotes(client, stretch.notes);
      const deadLetters = await insertDeadLetters(client, [...stretch.letters, ...refused]);
      // Last, because it locks rows that other loaders want as well.
      await refreshInstruments(client, stretch.seen);
      const lost = addLetterCounts(stretch.report.lost, countLetters(refused));
      const report = { ...stretch.report, dividends, slots, deadLetters, lost };
      await position.move(client, stretch, report);
      await client.query("commit");
      client.release();
      onLoaded(report);
      return true;
    } catch (error) {
      await this.#undo(error as Error, client);
      if (isOfData(error)) return false;
      throw error;
    }
  }

  async #begin({ segment, from }: Pick<Batch, "segment" | "from">): Promise<pg.PoolClient> {
    const { pool, position } = this.#options;
    const client = await pool.connect();
    try {
      await client.query("begin");
      if (!(await position.take(client, { segment, from }))) throw new LoadedByAnother({ segment, from });
      return client;
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  /** Undoes a transaction, the gathering stretch's if none is given. */
  async #undo(cause?: Error, client = this.#client): Promise<void> {
    if (client === this.#client) this.#client = null;
    this.#known.clear();
    this.#sources.clear();
    this.#memory.months.clear();
    if (client === null) return;
    const undone = await client.query("rollback").then(
      () => true,
      () => false,
    );
    // A connection that failed is closed, never handed out again half-way through a transaction. One that met a row it
    // refused is sound: a trial has all its tables on it.
    // A session stays read only when its database no longer is: the next attempt gets a new one.
    client.release(undone && (!cause || sqlstateOf(cause) !== READ_ONLY) ? undefined : cause);
  }

  async #makeRoom({ answers }: Batch): Promise<void> {
    const client = await this.#options.pool.connect();
    try {
      await ensureRoom(client, answers, this.#memory);
      client.release();
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  async #loadOneByOne({ segment, from, to }: Stretch): Promise<void> {
    for await (const batch of this.#options.reread(segment, from)) {
      await this.#loadAlone(batch);
      if (batch.to >= to) return;
    }
  }

  async #loadAlone(batch: Batch): Promise<void> {
    const { pool, position, onLoaded } = this.#options;
    const loaded = await loadBatch(pool, batch, { memory: this.#memory, position });
    if (loaded === null) throw new LoadedByAnother(batch);
    onLoaded(loaded);
  }
}

/** Whether the batches may go in one by one: the error may be about some row, or passes. */
function isOfData(error: unknown): boolean {
  return isPassing(error) || mayBeOfARow(error) || mayBeThereAlready(error);
}

/** Numbers of a batch's sources, one for each answer, and of its instruments, one for each unit. */
type Placing = { sourceIds: readonly number[]; instruments: PlacedInstruments };

/**
 * Batches that follow each other as the rows they become: what is kept of them is lines of text, and their quotes are
 * forgotten. What a transaction and a statement cost whatever they hold is paid once for all of them, above all the
 * session bars and the directory of instruments: a journal names the same ones again and again.
 */
class Gathered {
  readonly segment: string;
  readonly from: number;
  to: number;
  readonly responses: ResponseRow[] = [];
  readonly lines: QuoteLines[] = [];
  readonly dividends: DividendWords = new Map();
  readonly letters: SourcedLetter[] = [];
  readonly notes: JournaledNote[] = [];
  readonly seen: SeenInstruments = new Map();
  /** What was read, and stored if all of it is new; without dividends and slots, which the archive counts. */
  report: LoadReport = NOTHING_LOADED;
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
    const stored = { responses: answers.length, quotes: placed.length };
    this.report = addCounts(this.report, { ...NOTHING_LOADED, ...countsOf(answers), ...stored });
    this.to = to;
  }
}
