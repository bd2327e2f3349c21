/**
 * Loads the archive from the journal, in the journal's order, from the position that the database itself keeps.
 * A database that is away is waited for; the journal keeps growing meanwhile.
 */
import { addCounts } from "./letterCounts.ts";
import type pg from "pg";
import { atMost, type Clock, dateOf, type Instant } from "../../clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { EVER } from "../../journal/record.ts";
import { listSegments } from "../../journal/segments.ts";
import { JOURNAL_POSITION, readLag, readPositions, type Part } from "./loadPosition.ts";
import { isRetryable } from "../connect/databaseError.ts";
import { makeDueBars } from "../schema/makeBars.ts";
import { followSightings } from "./refreshInstruments.ts";
import { explain } from "../connect/explain.ts";
import { LoadedByAnother, StretchLoader } from "./stretchLoader.ts";
import { type Batch, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { type DamagedBytes, readBatches, SMALL_BATCH_BYTES } from "./readBatches.ts";
import { commitsSettled } from "../tiers/citus/door.ts";
import { PlainReader } from "../../read/plainRows.ts";
import { readStretches } from "./readStretches.ts";

/** What the loader needs, and whom it tells. */
export type LoaderOptions = {
  pool: pg.Pool;
  journalDir: string;
  clock: Clock;
  /** Awaited before each batch is loaded; when it rejects nothing more is. */
  onBatch?: (batch: Batch) => Promise<void>;
  /** Called after each commit, with the time of the first record of what was loaded. */
  onLoaded?: (report: LoadReport, first: Instant | null) => void;
  /** Called for bytes of the journal that hold no whole record, and once for a file that cannot be read; they are passed over. */
  onDamage?: (damage: DamagedBytes) => void;
  /** Called when a load failed; it is tried again after `waitMs`. */
  onFailure?: (error: unknown, waitMs: number) => void;
  /** Called once when loads succeed again after a failure. */
  onRecovered?: () => void;
  /** Done once before the first load, as soon as the database can be reached (its schema). */
  prepare?: () => Promise<void>;
  /** Tries to bring the database back, between attempts (the embedded server). Why it cannot is told to `onFailure`. */
  revive?: () => Promise<void>;
};

/** Waits between attempts while the database is away. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/** How often the whole journal is looked through for what other programs have written to it. */
const SCAN_EVERY_MS = 60_000;

/** How often bars are made while answers come: views add the rows that bars lack. */
const MAKE_BARS_EVERY_MS = 5_000;

/** Wait after an error that trying again does not help; somebody has to act, and may. */
const STUCK_WAIT_MS = 30_000;

/** What is loaded this much later than it came is late, in ms: another collector may have taken over its account meanwhile. */
const LATE_MS = 5_000;

/** Loads everything the journal holds and the database has not, once. Throws the database's errors. */
export async function loadAll(options: LoaderOptions): Promise<LoadReport> {
  const journal = new JournalLoader(options);
  await journal.loadAll();
  // Not in a trial: functions of the database know the archive's tables alone.
  if (options.onBatch === undefined) await makeDueBars(options.pool);
  return journal.report;
}

/** Loads one segment from a position on, batch by batch. Throws the database's errors; whole batches stay. */
export async function loadSegment(
  options: LoaderOptions,
  segment: string,
  position: number,
): Promise<LoadReport> {
  const journal = new JournalLoader(options);
  await journal.loadSegment(segment, position);
  await makeDueBars(options.pool);
  return journal.report;
}

/** Loads segments; remembers from one load to the next, to ask the database less. */
class JournalLoader {
  readonly #options: LoaderOptions;
  readonly #stretches: StretchLoader;
  readonly #reader = new PlainReader();
  #hasFollowed = false;
  /** Segments that nobody writes to any more, and the database has all of. */
  #whole: ReadonlySet<string> = new Set();
  /** Segments whose files could not be read to their ends. All others are loaded; these are tried again. */
  readonly unreadable = new Set<string>();
  /** What was loaded since the beginning. */
  report = NOTHING_LOADED;

  constructor(options: LoaderOptions) {
    this.#options = options;
    this.#stretches = new StretchLoader({
      ...{ pool: options.pool, position: JOURNAL_POSITION },
      today: () => exchangeDate(options.clock.now()),
      reread: (part) => this.#reread(part),
      onLoaded: (loaded, first) => {
        this.report = addCounts(this.report, loaded);
        options.onLoaded?.(loaded, first);
      },
    });
  }

  async loadAll(): Promise<void> {
    const { pool, journalDir, onBatch } = this.#options;
    // A load before this one may have been killed, or its server.
    if (!this.#hasFollowed) await commitsSettled(pool);
    if (!this.#hasFollowed && onBatch === undefined) await followSightings(pool);
    this.#hasFollowed = true;
    const segments = await listSegments(journalDir);
    // Of its own alone: the other collectors of a database have as many, and each has its own journal.
    const positions = await readPositions(
      pool,
      segments.map(({ name }) => name),
    );
    const whole = new Set<string>();
    for (const { name, bytes, state } of segments) {
      const position = positions.get(name) ?? 0;
      if (bytes === null || bytes > position) await this.loadSegment(name, position);
      else if (state !== "open") whole.add(name);
    }
    this.#whole = whole;
  }

  /** How many bytes the database has not taken. Those that had all of it at the last look are not looked at again. */
  async behind(): Promise<number> {
    const { pool, journalDir } = this.#options;
    return (await readLag(pool, journalDir, (segment) => !this.#whole.has(segment))).bytes;
  }

  async loadSegments(segments: readonly string[]): Promise<void> {
    const positions = await readPositions(this.#options.pool, segments);
    for (const segment of segments) await this.loadSegment(segment, positions.get(segment) ?? 0);
  }

  async loadSegment(segment: string, position: number): Promise<void> {
    const { pool, journalDir, onBatch, onDamage } = this.#options;
    for (let from = position; ;) {
      let failed = false;
      try {
        // An import that was ended in its midst: as its own run would have loaded it, down to the numbers of instruments.
        const alone = onBatch === undefined ? "imports" : "all";
        const what = { journalDir, range: EVER, mayBeGone: true, alone } as const;
        for await (const read of readStretches({ ...what, parts: [{ name: segment, from }] }, this.#reader))
          if ("stretch" in read) await this.#stretches.add(read.stretch);
          else {
            failed ||= read.damage.unreadable !== undefined;
            if (!failed || !this.unreadable.has(segment)) onDamage?.(read.damage);
          }
        if (failed) this.unreadable.add(segment);
        else this.unreadable.delete(segment);
        return await this.#stretches.finish();
      } catch (error) {
        await this.#stretches.abandon();
        if (!(error instanceof LoadedByAnother)) throw error;
        // Another program has loaded some of it: go on where it stopped.
        from = (await readPositions(pool, [segment])).get(segment) ?? 0;
      }
    }
  }

  async *#reread({ segment, from, to }: Part): AsyncGenerator<Batch, void> {
    const { journalDir, onBatch } = this.#options;
    const what = { journalDir, from, until: to, mayBeGone: true, maxBytes: SMALL_BATCH_BYTES };
    for await (const batch of readBatches(segment, what)) {
      if (batch.to === batch.from) continue;
      await onBatch?.(batch);
      yield batch;
    }
  }
}

/** The loader was closed before its last load had ended: nobody knows whether the database has all of it. */
export class LoadCutShort extends Error {
  override readonly name = "LoadCutShort";
}

/** A loader that runs beside the collector. */
export type Loader = {
  /** Says that a segment of the journal has grown. Returns at once. */
  notify: (segment: string) => void;
  /** Resolves when all that was in the journal at the call and can be read is loaded, or rejects with the error in the way. */
  drain: () => Promise<void>;
  /** Bytes of the journal that the database has not taken; null when it cannot be asked. Cheap enough to be asked often. */
  behind: () => Promise<number | null>;
  /** Time of the oldest record that was loaded late since this was last asked; null: none was. */
  takeLate: () => Instant | null;
  /** The error that keeps it from loading at the moment, null when all is well; after `close`, when all is loaded. */
  failure: () => unknown;
  /** Ends it: one last attempt to load what is there, within `graceMs`. */
  close: (graceMs: number) => Promise<void>;
};

/** Starts a loader; it loads at once whatever is there. */
export function startLoader(options: LoaderOptions): Loader {
  return new LastingLoader(options);
}

/** Whoever waits for all that was there at a time. */
type Waiter = { resolve: () => void; reject: (error: unknown) => void };

/**
 * States: idle -> loading (notify) -> idle (all loaded) or waiting (a load failed) -> loading (after the wait).
 * Closing is taken up in idle and waiting at once, in loading after the batch.
 */
class LastingLoader implements Loader {
  readonly #options: LoaderOptions;
  readonly #journal: JournalLoader;
  readonly #stop = new AbortController();
  readonly #grown = new Set<string>();
  readonly #running: Promise<void>;
  #scannedAtMs = -Infinity;
  #wanted = true;
  #prepared = false;
  #looksAgain = false;
  /** Whether rows came since bars were made. */
  #hasDueBars = false;
  #barsMadeMs = -Infinity;
  #failure: unknown = null;
  #waitMs = FIRST_WAIT_MS;
  #wake: () => void = () => undefined;
  #waiters: Waiter[] = [];
  #late: Instant | null = null;

  constructor(options: LoaderOptions) {
    this.#options = options;
    const onLoaded: LoaderOptions["onLoaded"] = (report, first) => {
      const isLate = first !== null && +options.clock.now() - +dateOf(first) > LATE_MS;
      if (isLate && (this.#late === null || first < this.#late)) this.#late = first;
      this.#hasDueBars ||= report.quotes > 0;
      options.onLoaded?.(report, first);
    };
    this.#journal = new JournalLoader({ ...options, onLoaded });
    this.#running = this.#run();
  }

  readonly notify = (segment: string): void => {
    this.#grown.add(segment);
    this.#want();
  };

  readonly drain = (): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#want();
    });

  readonly behind = (): Promise<number | null> => this.#journal.behind().catch(() => null);

  readonly takeLate = (): Instant | null => {
    const late = this.#late;
    this.#late = null;
    return late;
  };

  readonly failure = (): unknown => this.#failure;

  readonly close = async (graceMs: number): Promise<void> => {
    this.#stop.abort();
    this.#wake();
    let ended = false;
    const end = (failure: unknown, act: (waiter: Waiter) => void): void => {
      [ended, this.#failure] = [true, failure];
      this.#takeWaiters().forEach(act);
    };
    const last = this.#running
      .then(() => this.#journal.loadAll())
      .then(() => makeDueBars(this.#options.pool))
      .then(
        // Whatever was in the way before, everything is loaded.
        () => end(null, ({ resolve }) => resolve()),
        (error: unknown) => end(error, ({ reject }) => reject(error)),
      );
    await atMost(graceMs, last, this.#options.clock);
    if (ended) return;
    const cause = this.#failure;
    this.#failure = new LoadCutShort(`the last load did not end within ${graceMs} ms`, { cause });
  };

  #want(): void {
    this.#wanted = true;
    this.#wake();
  }

  /** A file that cannot be read may become readable, and no event says so. */
  #lookAgain(): void {
    if (this.#looksAgain) return;
    this.#looksAgain = true;
    void this.#options.clock.sleep(SCAN_EVERY_MS, this.#stop.signal).then(
      () => {
        this.#looksAgain = false;
        this.#want();
      },
      () => undefined,
    );
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (!this.#wanted) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#stop.signal.aborted) break;
      this.#wanted = false;
      await this.#load();
    }
  }

  async #load(): Promise<void> {
    const { pool, clock, prepare, onRecovered } = this.#options;
    const waiting = this.#takeWaiters();
    const segments = [...this.#grown];
    this.#grown.clear();
    const scan =
      this.#failure !== null ||
      waiting.length > 0 ||
      clock.monotonicMs() - this.#scannedAtMs >= SCAN_EVERY_MS;
    try {
      if (!this.#prepared) await prepare?.();
      this.#prepared = true;
      if (scan) await this.#journal.loadAll();
      else await this.#journal.loadSegments(segments);
      if (scan) this.#scannedAtMs = clock.monotonicMs();
      await this.#makeBars();
      if (this.#journal.unreadable.size > 0) this.#lookAgain();
      if (this.#failure !== null) onRecovered?.();
      this.#failure = null;
      this.#waitMs = FIRST_WAIT_MS;
      waiting.forEach(({ resolve }) => resolve());
    } catch (error) {
      const reason = await explain(pool, error);
      this.#failure = reason;
      waiting.forEach(({ reject }) => reject(reason));
      this.#wanted = true;
      await this.#outlast(reason);
    }
  }

  /** Makes the bars of rows that came, every few seconds. Those of the last answers wait for the next one. */
  async #makeBars(): Promise<void> {
    const { pool, clock } = this.#options;
    if (!this.#hasDueBars || clock.monotonicMs() - this.#barsMadeMs < MAKE_BARS_EVERY_MS) return;
    await makeDueBars(pool);
    this.#hasDueBars = false;
    this.#barsMadeMs = clock.monotonicMs();
  }

  /** Waits, and brings the database back; as long as that fails there is nothing to load into. */
  async #outlast(error: unknown): Promise<void> {
    const { clock, onFailure, revive } = this.#options;
    const { signal } = this.#stop;
    for (let reason: unknown = error; reason !== null;) {
      this.#failure = reason;
      const wait = isRetryable(reason) ? this.#waitMs : STUCK_WAIT_MS;
      // The last attempt of a loader that is closed is told by `failure`.
      if (signal.aborted) return;
      onFailure?.(reason, wait);
      await clock.sleep(wait, signal).catch(() => undefined);
      this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
      if (signal.aborted) return;
      reason = await (revive?.() ?? Promise.resolve()).then(
        () => null,
        (why: unknown) => why,
      );
      const why = reason;
      if (why !== null) this.#takeWaiters().forEach(({ reject }) => reject(why));
    }
  }
}
