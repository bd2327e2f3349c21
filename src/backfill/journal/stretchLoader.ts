/**
 * Loads a journal stretch by stretch, for the time when all of it is new: while one stretch is stored the next one is
 * read. Whatever is not as expected, a quote that is there already or one that the database refuses, is left to the
 * ordinary loader: the stretch is read again, batch by batch.
 */
import type pg from "pg";
import { copyQuoteLines } from "../../archive/copyQuotes.ts";
import { insertDividends } from "../../archive/dividends.ts";
import { insertDeadLetters, insertResponses } from "../../archive/insert.ts";
import {
  placeAndRemember,
  placeFromMemory,
  placeSources,
  refreshInstruments,
  sourceText,
} from "../../archive/instruments.ts";
import { KnownInstruments } from "../../archive/knownInstruments.ts";
import { createMemory, ensureRoom, isPassing, loadBatch, strangeMonths } from "../../archive/load.ts";
import type { Batch } from "../../archive/batch.ts";
import { addLetterCounts, countLetters } from "../../archive/letterCounts.ts";
import { loadNotes } from "../../archive/loadNotes.ts";
import { mayBeOfARow, mayBeThereAlready } from "../../archive/sqlState.ts";
import { addReports, type BackfillReport, withBatch } from "../report.ts";
import { overtaken, type RunPosition } from "./runPosition.ts";
import { type Placing, Stretch } from "./stretch.ts";

/** Bytes of a segment, uncompressed, that one transaction takes in: some 14,000 quotes. */
const STRETCH_BYTES = 16 * 1024 * 1024;

/** What loading stretches needs. */
export type StretchOptions = {
  pool: pg.Pool;
  runPosition: RunPosition;
  /** The report of what was committed; grows. */
  tally: { report: BackfillReport };
  /** Reads a segment again from a place on, cut into the same batches. */
  reread: (segment: string, from: number) => AsyncIterable<Batch>;
};

/** A stretch on its way into the archive; `done` tells whether it came there. */
type Storing = { stretch: Stretch; done: Promise<boolean> };

/** Batches come in (`add`) and gather in a stretch; a full one is stored while the next one gathers. */
export class StretchLoader {
  readonly #options: StretchOptions;
  readonly #memory = createMemory();
  readonly #known = new KnownInstruments();
  readonly #sources = new Map<string, number>();
  #gathering: Stretch | null = null;
  /** The transaction of the stretch that gathers: it begins early when there are new instruments to add. */
  #client: pg.PoolClient | null = null;
  #storing: Storing | null = null;
  /** The segment of which something was there already: the rest of it most likely as well. */
  #repeated: string | null = null;

  constructor(options: StretchOptions) {
    this.#options = options;
  }

  /**
   * Takes in the next batch.
   *
   * @throws the database's errors, BACKFILL_OVERTAKEN; what was committed before stays
   */
  async add(batch: Batch): Promise<void> {
    if (batch.answers.some(({ restored }) => restored !== undefined)) {
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
    this.#gathering ??= new Stretch(batch);
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

  async #storeStretch(stretch: Stretch, begun: pg.PoolClient | null): Promise<boolean> {
    const { runPosition, tally } = this.#options;
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
      await insertDeadLetters(client, [...stretch.letters, ...refused]);
      // Last, because it locks rows that other loaders want as well.
      await refreshInstruments(client, stretch.seen);
      const report = { ...addReports(tally.report, stretch.report), dividends: 0, slots: 0 };
      report.dividends = tally.report.dividends + dividends;
      report.slots = tally.report.slots + slots;
      report.deadLetters = addLetterCounts(report.deadLetters, countLetters(refused));
      await runPosition.moveTo(client, stretch, report);
      await client.query("commit");
      client.release();
      // Damaged bytes were counted meanwhile.
      tally.report = { ...report, damagedBytes: tally.report.damagedBytes };
      return true;
    } catch (error) {
      await this.#undo(error as Error, client);
      if (isOfData(error)) return false;
      throw error;
    }
  }

  async #begin({ segment, from }: Pick<Batch, "segment" | "from">): Promise<pg.PoolClient> {
    const { pool, runPosition } = this.#options;
    const client = await pool.connect();
    try {
      await client.query("begin");
      if (!(await runPosition.take(client, { segment, from }))) throw overtaken({ segment, from });
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
    client.release(undone ? undefined : cause);
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
    const { pool, runPosition, tally } = this.#options;
    const loaded = await loadBatch(pool, batch, this.#memory, runPosition);
    if (loaded === null) throw overtaken(batch);
    tally.report = withBatch(tally.report, batch, loaded);
  }
}

/** Whether the batches may go in one by one: the error may be about some row, or passes. */
function isOfData(error: unknown): boolean {
  return isPassing(error) || mayBeOfARow(error) || mayBeThereAlready(error);
}
