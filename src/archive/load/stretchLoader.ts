/**
 * Loads a journal, live and again, stretch by stretch (stretch.ts): one transaction stores a stretch while the next one is
 * read. Live a stretch is the answer that has just come; of a replay it is 16 MB. What is as expected goes in without
 * many questions: quotes that are all new, or all there. Whatever is not as expected, some quotes there and some not, or
 * one that the database refuses, is left to `loadBatch`: the stretch is read again, batch by batch.
 */
import type pg from "pg";
import type { Instant } from "../../clock.ts";
import type { Batch, LoadReport } from "./batch.ts";
import { copyLines, firstRows, rowTimes } from "./copyQuotes.ts";
import { isPassing, createMemory, ensureRoom, loadBatch, strangeMonths } from "./loadBatch.ts";
import { READ_ONLY, mayBeOfARow, mayBeThereAlready, sqlstateOf } from "../connect/databaseError.ts";
import { areDividendsThere, type DividendSeries, insertDividends, joinSeries } from "./dividends.ts";
import { areApart, BARS_FROM_ROWS, BEGIN_WITH_BARS, GivenBars } from "./givenBars.ts";
import { dropOldLetters, insertDeadLetters, insertResponses, type SourcedLetter } from "./insert.ts";
import { placeSeen } from "./instruments.ts";
import { addAllSeen, seenByNumber, type SeenInstruments } from "./seen.ts";
import { placeAccounts } from "../ledger/accountRows.ts";
import { placeSources, sourceText } from "./sources.ts";
import { refreshInstruments } from "./refreshInstruments.ts";
import { KnownInstruments } from "./knownInstruments.ts";
import { addLetterCounts, countLetters } from "./letterCounts.ts";
import { loadNotes } from "./loadNotes.ts";
import { BEGIN_STORING, inTransaction } from "../connect/transaction.ts";
import { markLate } from "../schema/lateDays.ts";
import { type FollowedRow, followRows, isOnCitus, oneConnectionEach } from "../tiers/citus.ts";
import type { LoadPosition, Part } from "./loadPosition.ts";
import type { Numbers } from "../../read/copyLines.ts";
import type { Stretch } from "./stretch.ts";

/** What a loader of stretches needs. */
type StretchLoaderOptions = {
  pool: pg.Pool;
  /** How far this load has come. */
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
  readonly #sources = new Map<string, number>();
  readonly #accounts = new Map<string, number>();
  readonly #bars = new GivenBars();
  #storing: Storing | null = null;
  /** Bars that are over, on their way into the archive: it says how far they are kept, so no question waits for them. */
  #keeping = Promise.resolve();
  /** The segment of which some was there and some was not: the rest of it most likely as well. */
  #mixed: string | null = null;
  /** What the archive is still to be told of instruments: that they were seen again. */
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
    await this.#keepAllBars();
  }

  async #keepAllBars(): Promise<void> {
    await this.#keeping;
    this.#keepBars(false);
    await this.#keeping;
  }

  async #arrive(): Promise<void> {
    const storing = this.#storing;
    this.#storing = null;
    if (storing !== null && !(await storing.done)) await this.#loadByBatches(storing.stretch);
    if (this.#later.size === 0) return;
    await inTransaction(this.#options.pool, (client) => refreshInstruments(client, this.#later));
    this.#later.clear();
  }

  /** Ends a load that has failed: what is not committed is undone. */
  async abandon(): Promise<void> {
    await this.#storing?.done.catch(() => undefined);
    this.#storing = null;
    await this.#keepAllBars().catch(() => undefined);
    // What hindered the bars then hinders no later load: they are kept with those of the next one.
    this.#keeping = Promise.resolve();
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
      const { remember, ...counts } = stored;
      const report = { ...stretch.report, ...counts, slots, deadLetters, lost };
      await position.move(client, stretch, report);
      const now = today?.();
      await markLate(
        client,
        stretch.dates.filter((date) => date !== now),
      );
      await client.query("commit");
      client.release();
      remember?.();
      this.#keepBars(today === undefined);
      for (const [id, { row }] of placed.seen) this.#known.describe(id, row);
      addAllSeen(this.#later, later);
      onLoaded(report, firstOf(stretch.responses[0]?.observedAt, stretch.notes[0]?.at));
      return true;
    } catch (error) {
      await this.#undo(client, error as Error);
      if (isOfData(error)) return false;
      throw error;
    }
  }

  async #begin(stretch: Stretch): Promise<pg.PoolClient> {
    const { pool, position } = this.#options;
    const client = await pool.connect();
    try {
      await client.query(stretch.bars ? BEGIN_WITH_BARS : BEGIN_STORING);
      await oneConnectionEach(client);
      if (!(await position.take(client, stretch))) throw new LoadedByAnother(stretch);
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
      ...{ sourceId: sourceIds[row.sourceId] ?? 0, accountId: accountIds[row.accountId] ?? 0 },
    }));
    const added = await insertResponses(client, responses);
    const dividends = stretch.isInOrder ? joinSeries(dividendsOf(stretch, numbers)) : null;
    if (dividends === null) return null;
    if (added === responses.length) {
      const changed = await insertDividends(client, dividends);
      if (changed === null) return null;
      const bars = areApart(numbers) ? stretch.bars : null;
      if (stretch.bars !== null && bars === null) await client.query(BARS_FROM_ROWS);
      await copyLines(client, stretch, numbers);
      // Parts are given in the order of their times.
      await this.#keeping;
      const remember = bars && (await this.#bars.give(client, bars, numbers));
      if (bars === null && (await isOnCitus(client))) await followRows(client, rowsOf(stretch, numbers));
      return { responses: added, quotes: stretch.report.units, dividends: changed, repeated: 0, remember };
    }
    if (added > 0 || stretch.hasFiles || !(await areQuotesThere(client, stretch, numbers))) return null;
    if (!(await areDividendsThere(client, dividends))) return null;
    await dropOldLetters(client, responses, letters);
    return { responses: 0, quotes: 0, dividends: 0, repeated: stretch.report.units, remember: null };
  }

  /** Takes out those that were only seen again. @returns them */
  #split(seen: SeenInstruments): SeenInstruments {
    const later: SeenInstruments = new Map();
    if (this.#options.today === undefined) return later;
    for (const [id, one] of seen) if (this.#known.isDescribed(id, one.row)) later.set(id, one);
    for (const id of later.keys()) seen.delete(id);
    return later;
  }

  /** @param many whether few may wait for the next ones */
  #keepBars(many: boolean): void {
    if (!this.#bars.areWaiting(many)) return;
    this.#keeping = this.#bars.keep(this.#options.pool).catch((error: unknown) => {
      this.#bars.forget();
      // The rows are stored. What hinders their bars meets the next to keep them, and no load ends for it.
      if (!isOfData(error)) throw error;
    });
    // Its failure is met by whoever waits for it.
    this.#keeping.catch(() => undefined);
  }

  async #undo(client: pg.PoolClient, cause?: Error): Promise<void> {
    // Numbers that were given out in the transaction are no numbers any more.
    this.#known.clear();
    this.#sources.clear();
    this.#accounts.clear();
    this.#memory.months.clear();
    this.#bars.forget();
    const undone = await client.query("rollback").then(
      () => true,
      () => false,
    );
    // A connection that failed is closed, never handed out again half-way through a transaction. One that met a row it
    // refused is sound: a trial has all its tables on it.
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

/** Which rows a stretch has; whether one is delayed stands in its line alone. */
function rowsOf(stretch: Stretch, numbers: readonly Numbers[]): FollowedRow[] {
  const times = rowTimes(stretch.quotes);
  const firsts = firstRows(stretch.series);
  return numbers.flatMap((one, place) =>
    times
      .slice(firsts[place], firsts[place + 1])
      .flatMap((observedAt) => [false, true].map((delayed) => ({ ...one, delayed, observedAt }))),
  );
}

/** Whether the batches may go in one by one: the error may be about some row, or passes. */
function isOfData(error: unknown): boolean {
  return isPassing(error) || mayBeOfARow(error) || mayBeThereAlready(error);
}

function firstOf(...times: (Instant | undefined)[]): Instant | null {
  return times.filter((at) => at !== undefined).sort()[0] ?? null;
}

/** What became of a stretch's quotes; `remember` is to be called when they are committed. */
type StoredQuotes = Pick<LoadReport, "responses" | "quotes" | "dividends" | "repeated"> & {
  remember: (() => void) | null;
};

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
  return series.map(({ words, lastAt }, place) => ({
    ...(numbers[place] ?? { instrumentId: 0, sourceId: 0 }),
    ...{ words, lastAt, sparse: true },
  }));
}

/**
 * Whether both tables have a row for each quote of a stretch. Each series is read from its first time to its last: a
 * chunk that is compressed is not looked into once for each row.
 */
async function areQuotesThere(
  client: pg.ClientBase,
  stretch: Stretch,
  numbers: readonly Numbers[],
): Promise<boolean> {
  const times = rowTimes(stretch.quotes);
  if (await isOnCitus(client)) return areKeysThere(client, times, keysOf(stretch, numbers));
  const places = stretch.series.flatMap(({ rows }, place) => Array.from({ length: rows }, () => place + 1));
  const bounds = boundsOf(stretch, times);
  const { rows } = await client.query<Record<"quotes" | "extended_quotes", number>>({
    // Without a name: a plan that serves any number of rows would compare each with each.
    text: `with series as materialized (
        select * from unnest($1::int[], $2::smallint[], $3::timestamptz[], $4::timestamptz[])
          with ordinality as s (instrument_id, source_id, first, last, place)
      ), wanted as materialized (
        select * from unnest($5::int[], $6::timestamptz[]) as w (place, observed_at)
      )
      select ${["quotes", "extended_quotes"].map((table) => `(${countThere(table)}) as ${table}`).join(", ")}`,
    values: [
      numbers.map(({ instrumentId }) => instrumentId),
      numbers.map(({ sourceId }) => sourceId),
      bounds.map(({ first }) => first),
      bounds.map(({ last }) => last),
      places,
      times,
    ],
  });
  return rows[0]?.quotes === times.length && rows[0].extended_quotes === times.length;
}

/** The instrument and source of each row of a stretch. */
function keysOf({ series }: Stretch, numbers: readonly Numbers[]): Numbers[] {
  return series.flatMap(({ rows }, place) =>
    Array.from({ length: rows }, () => numbers[place] ?? { instrumentId: 0, sourceId: 0 }),
  );
}

/** The same by whole keys: each worker looks its own ones up. */
async function areKeysThere(
  client: pg.ClientBase,
  times: readonly Instant[],
  keys: readonly Numbers[],
): Promise<boolean> {
  const counts = ["quotes", "extended_quotes"].map(
    (table) => `select count(*)::int as n
      from unnest($1::int[], $2::smallint[], $3::timestamptz[]) as w (instrument_id, source_id, observed_at)
      join ${table} q on q.instrument_id = w.instrument_id and q.source_id = w.source_id and q.observed_at = w.observed_at`,
  );
  for (const text of counts) {
    const { rows } = await client.query<{ n: number }>(text, [
      keys.map(({ instrumentId }) => instrumentId),
      keys.map(({ sourceId }) => sourceId),
      times,
    ]);
    if (rows[0]?.n !== times.length) return false;
  }
  return true;
}

function countThere(table: string): string {
  return `select count(*)::int from (
      select s.place, q.observed_at
      from series s
      cross join lateral (
        select q.observed_at from ${table} q
        where q.instrument_id = s.instrument_id and q.source_id = s.source_id
          and q.observed_at between s.first and s.last
        offset 0
      ) q
    ) there
    join wanted w on w.place = there.place and w.observed_at = there.observed_at`;
}

function boundsOf({ series }: Stretch, times: readonly string[]): { first: string; last: string }[] {
  const firsts = firstRows(series);
  // A stretch that is here is in order.
  return series.map((_, place) => ({
    first: times[firsts[place] ?? 0] ?? "",
    last: times[(firsts[place + 1] ?? 0) - 1] ?? "",
  }));
}
