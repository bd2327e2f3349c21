/**
 * Loads a journal, live and again, stretch by stretch (stretch.ts): one transaction stores a stretch while the next one is
 * read. Live a stretch is the answer that has just come; of a replay it is 32 MB. What is as expected goes in without
 * many questions: quotes that are all new, or all there. Whatever is not as expected, some quotes there and some not, or
 * one that the database refuses, is left to `loadBatch`: the stretch is read again, batch by batch.
 */
import type pg from "pg";
import type { Instant } from "../../clock.ts";
import type { Batch, LoadReport } from "./batch.ts";
import { prepareStaging, storeLines } from "./storeQuotes.ts";
import { isPassing, createMemory, ensureRoom, loadBatch, strangeMonths } from "./loadBatch.ts";
import { READ_ONLY, sqlstateOf } from "../connect/databaseError.ts";
import { mayBeOfARow, mayBeThereAlready } from "../connect/whoseFault.ts";
import { areDividendsThere, type DividendSeries, insertDividends, joinSeries } from "./dividends.ts";
import { dropOldLetters, insertDeadLetters, insertResponses, type SourcedLetter } from "./insert.ts";
import { placeSeen } from "./instruments.ts";
import { addAllSeen, seenByNumber, type SeenInstruments } from "./seen.ts";
import { placeAccounts } from "../ledger/accountRows.ts";
import { placeSources, sourceText } from "./sources.ts";
import { SaidDividends } from "./saidDividends.ts";
import { refreshInstruments } from "./refreshInstruments.ts";
import { KnownInstruments } from "./knownInstruments.ts";
import { addLetterCounts, countLetters } from "./letterCounts.ts";
import { loadNotes } from "./loadNotes.ts";
import { BEGIN_STORING, inTransaction } from "../connect/transaction.ts";
import { markLate } from "../schema/lateDays.ts";
import { oneConnectionEach } from "../tiers/citus/door.ts";
import type { LoadPosition, Part } from "./loadPosition.ts";
import type { Numbers } from "../../read/copyLines.ts";
import type { Stretch } from "./stretch.ts";

type StretchLoaderOptions = {
  pool: pg.Pool;
  position: LoadPosition;
  /**
   * Where it loads answers as they come: the exchange date, of which rows are not late. Then the transaction of an answer's
   * quotes leaves `last_seen_at` of instruments to one that follows it, unless the answer says something new of them.
   */
  today?: () => string;
  /** Reads a part of a segment again, as batches. */
  reread: (part: Part) => AsyncIterable<Batch>;
  /** Told of each load that was committed, in order, and of the time of its first record. */
  onLoaded: (report: LoadReport, first: Instant | null) => void;
};

/** The position is not where a stretch begins: another program has loaded it. */
export class LoadedByAnother extends Error {
  override readonly name = "LoadedByAnother";
  readonly at: Pick<Batch, "segment" | "from">;

  constructor({ segment, from }: Pick<Batch, "segment" | "from">) {
    super(`${segment} was loaded beyond byte ${from} by another program`);
    this.at = { segment, from };
  }
}

/** A stretch on its way into the archive; `done` tells whether it came there. */
type Storing = { stretch: Stretch; done: Promise<boolean> };

/** Stretches come in (`add`); each is stored while the next one is read. */
export class StretchLoader {
  readonly #options: StretchLoaderOptions;
  readonly #memory = createMemory();
  readonly #known = new KnownInstruments();
  readonly #said = new SaidDividends();
  readonly #sources = new Map<string, number>();
  readonly #accounts = new Map<string, number>();
  #storing: Storing | null = null;
  /** A segment of which some rows were there and some were not, which most likely holds for the rest of it. */
  #mixed: string | null = null;
  /** Instruments whose last_seen_at still has to be written. */
  readonly #later: SeenInstruments = new Map();

  constructor(options: StretchLoaderOptions) {
    this.#options = options;
  }

  /**
   * Takes in the next stretch, once the one before it has arrived.
   *
   * @throws the database's errors, LoadedByAnother; what was committed before stays
   */
  async add(stretch: Stretch): Promise<void> {
    await this.#arrive();
    if (stretch.isAlone || this.#mixed === stretch.segment) return this.#loadByBatches(stretch);
    await this.#makeRoom(stretch);
    this.#storing = { stretch, done: this.#store(stretch) };
    // Its failure is met when it arrives.
    this.#storing.done.catch(() => undefined);
  }

  /** Waits for the stretch on its way; if it cannot go in as a whole, it goes in batch by batch. */
  async finish(): Promise<void> {
    await this.#arrive();
  }

  async #arrive(): Promise<void> {
    const storing = this.#storing;
    this.#storing = null;
    if (storing !== null && !(await storing.done)) await this.#loadByBatches(storing.stretch);
    if (this.#later.size === 0) return;
    await inTransaction(this.#options.pool, (client) => refreshInstruments(client, this.#later));
    this.#later.clear();
  }

  /** Ends a load that has failed; what is not committed is undone. */
  async abandon(): Promise<void> {
    await this.#storing?.done.catch(() => undefined);
    this.#storing = null;
  }

  async #store(stretch: Stretch): Promise<boolean> {
    const { position, onLoaded, today } = this.#options;
    const client = await this.#begin(stretch);
    try {
      const placed = await this.#place(client, stretch);
      const stored = await this.#storeQuotes(client, stretch, placed);
      if (stored === null) {
        if (stretch.isInOrder) this.#mixed = stretch.segment;
        await this.#undo(client);
        return false;
      }
      const { slots, refused } = await loadNotes(client, stretch.notes);
      const deadLetters = await insertDeadLetters(client, [...placed.letters, ...refused]);
      // Last, because it locks rows that other loaders want as well.
      const later = this.#split(placed.seen);
      await refreshInstruments(client, placed.seen);
      const lost = addLetterCounts(stretch.report.lost, countLetters(refused));
      const report = { ...stretch.report, ...stored, slots, deadLetters, lost };
      const now = today?.();
      await markLate(
        client,
        stretch.dates.filter((date) => date !== now),
      );
      await position.commit(client, stretch, report);
      client.release();
      for (const [id, { row }] of placed.seen) this.#known.describe(id, row);
      addAllSeen(this.#later, later);
      onLoaded(report, firstOf(stretch.responses[0]?.observedAt, stretch.notes[0]?.at));
      return true;
    } catch (error) {
      await this.#undo(client, error as Error);
      if (!isOfData(error)) throw error;
      if (mayBeThereAlready(error)) this.#mixed = stretch.segment;
      return false;
    }
  }

  async #begin(stretch: Stretch): Promise<pg.PoolClient> {
    const { pool, position } = this.#options;
    const client = await pool.connect();
    try {
      await prepareStaging(client);
      const version = await position.begin(client, stretch, BEGIN_STORING);
      if (version === null) throw new LoadedByAnother(stretch);
      // SQL of other programs changes dividends and no version: each segment of the journal begins without a memory.
      this.#said.settle(`${version} ${stretch.segment}`);
      await oneConnectionEach(client);
      return client;
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  /** From memory, or asks the archive, within the transaction of the stretch. */
  async #place(client: pg.ClientBase, stretch: Stretch): Promise<Placed> {
    const { sources, accounts, instruments, series, letters } = stretch;
    const texts = sources.map(sourceText);
    const sourceIds = await numbersOf(texts, this.#sources, () => placeSources(client, sources));
    const accountIds = await numbersOf(accounts, this.#accounts, () => placeAccounts(client, accounts));
    const ids = await placeSeen(client, instruments, this.#known);
    return {
      sourceIds,
      accountIds,
      numbers: series.map(({ instrument, source }) => ({
        instrumentId: ids[instrument] ?? 0,
        sourceId: sourceIds[source] ?? 0,
      })),
      seen: seenByNumber(instruments, ids),
      letters: letters.map(({ source, ...letter }) => ({ ...letter, sourceId: sourceIds[source] ?? 0 })),
    };
  }

  /** Null: some of it is there and some is not, or dividends were left out that may be wanted. */
  async #storeQuotes(
    client: pg.ClientBase,
    stretch: Stretch,
    { sourceIds, accountIds, numbers, letters }: Placed,
  ): Promise<StoredQuotes | null> {
    const responses = stretch.responses.map((row) => ({
      ...row,
      sourceId: sourceIds[row.sourceId] ?? 0,
      accountId: accountIds[row.accountId] ?? 0,
    }));
    const added = await insertResponses(client, responses);
    const dividends = stretch.isInOrder ? joinSeries(dividendsOf(stretch, numbers)) : null;
    if (dividends === null || (added > 0 && added < responses.length)) return null;
    const areNew = added > 0 || responses.length === 0;
    if (!areNew && stretch.hasFiles) return null;
    const changed = areNew ? await insertDividends(client, dividends, this.#said) : 0;
    if (changed === null) return null;
    const quotes = await storeLines(client, stretch, { numbers, areNew });
    if (quotes !== (areNew ? stretch.report.units : 0)) return null;
    if (areNew) return { responses: added, quotes, dividends: changed, repeated: 0 };
    if (!(await areDividendsThere(client, dividends))) return null;
    await dropOldLetters(client, responses, letters);
    return { responses: 0, quotes: 0, dividends: 0, repeated: stretch.report.units };
  }

  /** Moves instruments that were only seen again out of `seen`. @returns them */
  #split(seen: SeenInstruments): SeenInstruments {
    const later: SeenInstruments = new Map();
    if (this.#options.today === undefined) return later;
    for (const [id, one] of seen) if (this.#known.isDescribed(id, one.row)) later.set(id, one);
    for (const id of later.keys()) seen.delete(id);
    return later;
  }

  async #undo(client: pg.PoolClient, cause?: Error): Promise<void> {
    // Numbers that were given out in the transaction are no numbers any more.
    this.#known.clear();
    this.#sources.clear();
    this.#accounts.clear();
    this.#memory.months.clear();
    // The database may be another server by now, whose versions are others.
    this.#said.settle("");
    const undone = await client.query("rollback").then(
      () => true,
      () => false,
    );
    // A connection that failed is closed, never handed out again half-way through a transaction. One that met a row it
    // refused is sound.
    // A session stays read only when its database no longer is: the next attempt gets a new one.
    client.release(undone && (!cause || sqlstateOf(cause) !== READ_ONLY) ? undefined : cause);
  }

  /** Partitions are made outside of any transaction that has rows: it would wait for itself. */
  async #makeRoom({ months }: Stretch): Promise<void> {
    if (strangeMonths(months, this.#memory).length === 0) return;
    const client = await this.#options.pool.connect();
    try {
      await ensureRoom(client, months, this.#memory);
      client.release();
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  async #loadByBatches(part: Part): Promise<void> {
    const { pool, position, onLoaded, reread } = this.#options;
    for await (const batch of reread(part)) {
      const loaded = await loadBatch(pool, batch, { memory: this.#memory, position });
      if (loaded === null) throw new LoadedByAnother(batch);
      onLoaded(loaded, firstOf(batch.answers[0]?.record.observedAt, batch.notes[0]?.at));
    }
  }
}

/** Whether the batches may go in one by one: the error may be about some row, or passes. */
function isOfData(error: unknown): boolean {
  return isPassing(error) || mayBeOfARow(error) || mayBeThereAlready(error);
}

function firstOf(...times: (Instant | undefined)[]): Instant | null {
  return times.filter((at) => at !== undefined).sort()[0] ?? null;
}

type StoredQuotes = Pick<LoadReport, "responses" | "quotes" | "dividends" | "repeated">;

/** From memory, or all of them by a look at the archive, which is remembered. */
async function numbersOf(
  names: readonly string[],
  known: Map<string, number>,
  find: () => Promise<number[]>,
): Promise<number[]> {
  if (names.some((name) => !known.has(name))) {
    const numbers = await find();
    names.forEach((name, place) => known.set(name, numbers[place] ?? 0));
  }
  return names.map((name) => known.get(name) ?? 0);
}

/** Numbers in place of places: of the sources, the accounts, and of each series. */
type Placed = {
  sourceIds: readonly number[];
  accountIds: readonly number[];
  numbers: readonly Numbers[];
  seen: SeenInstruments;
  letters: SourcedLetter[];
};

function dividendsOf({ series }: Stretch, numbers: readonly Numbers[]): DividendSeries[] {
  return series.map(({ words, lastAt }, place) => {
    const { instrumentId, sourceId } = numbers[place] ?? { instrumentId: 0, sourceId: 0 };
    return { instrumentId, sourceId, words, lastAt, sparse: true };
  });
}
