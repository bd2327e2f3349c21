/**
 * Loads the archive from the journal, in the journal's order, from the position that the database itself keeps.
 * A database that is away is waited for; the journal keeps growing meanwhile.
 */
import { addCounts } from "./letterCounts.ts";
import type pg from "pg";
import { atMost, type Clock } from "../clock.ts";
import { listSegments } from "../journal/segments.ts";
import { JOURNAL_POSITION, readPositions } from "./loadPosition.ts";
import { isRetryable } from "./databaseError.ts";
import { explain } from "./explain.ts";
import { BatchLoader, GATHERED_BATCH_BYTES, LoadedByAnother } from "./batchLoader.ts";
import { type Batch, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { readBatches } from "./readBatches.ts";

/** What the loader needs, and whom it tells. */
export type LoaderOptions = {
  pool: pg.Pool;
  journalDir: string;
  clock: Clock;
  /** Awaited before each batch is loaded; when it rejects nothing more is. */
  onBatch?: (batch: Batch) => Promise<void>;
  /** Called after each commit. */
  onLoaded?: (report: LoadReport) => void;
  /** Called for bytes of the journal that hold no whole record; they are passed over. */
  onDamage?: (segment: string, offset: number, length: number, reason: string) => void;
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

/** Wait after an error that trying again does not help; somebody has to act, and may. */
const STUCK_WAIT_MS = 30_000;

/** Loads everything the journal holds and the database has not, once. Throws the database's errors. */
export async function loadAll(options: LoaderOptions): Promise<LoadReport> {
  const journal = new JournalLoader(options);
  await journal.loadAll();
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
  return journal.report;
}

/** Loads segments; remembers from one load to the next, to ask the database less. */
class JournalLoader {
  readonly #options: LoaderOptions;
  readonly #batches: BatchLoader;
  /** What was loaded since the beginning. */
  report = NOTHING_LOADED;

  constructor(options: LoaderOptions) {
    this.#options = options;
    this.#batches = new BatchLoader({
      ...{ pool: options.pool, position: JOURNAL_POSITION },
      // An import that was ended in its midst: as its own run would have loaded it, down to the numbers of instruments.
      alone: ({ answers }) => answers.some(({ record }) => record.source.kind === "import"),
      reread: (segment, from) => this.#read(segment, from),
      onLoaded: (loaded) => {
        this.report = addCounts(this.report, loaded);
        options.onLoaded?.(loaded);
      },
    });
  }

  async loadAll(): Promise<void> {
    const { pool, journalDir } = this.#options;
    const positions = await readPositions(pool);
    for (const { name, bytes } of await listSegments(journalDir)) {
      const position = positions.get(name) ?? 0;
      if (bytes === null || bytes > position) await this.loadSegment(name, position);
    }
  }

  async loadSegments(segments: readonly string[]): Promise<void> {
    const positions = await readPositions(this.#options.pool, segments);
    for (const segment of segments) await this.loadSegment(segment, positions.get(segment) ?? 0);
  }

  async loadSegment(segment: string, position: number): Promise<void> {
    const { pool, onBatch, onDamage } = this.#options;
    for (let from = position; ;) {
      try {
        for await (const batch of this.#read(segment, from, onDamage)) {
          if (onBatch) {
            await this.#batches.finish();
            await onBatch(batch);
          }
          await this.#batches.add(batch);
        }
        return await this.#batches.finish();
      } catch (error) {
        await this.#batches.abandon();
        if (!(error instanceof LoadedByAnother)) throw error;
        // Another program has loaded some of it: go on where it stopped.
        from = (await readPositions(pool, [segment])).get(segment) ?? 0;
      }
    }
  }

  async *#read(segment: string, from: number, onDamage?: LoaderOptions["onDamage"]): AsyncGenerator<Batch> {
    const { journalDir } = this.#options;
    const what = { journalDir, from, mayBeGone: true, onDamage, maxBytes: GATHERED_BATCH_BYTES };
    for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
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
  /** Resolves when all that was in the journal at the call is loaded, or rejects with the error in the way. */
  drain: () => Promise<void>;
  /** The error that keeps it from loading at the moment, null when all is well; after `close`, when all is loaded. */
  failure: () => unknown;
  /** Ends it: one last attempt to load what is there, within `graceMs`. */
  close: (graceMs: number) => Promise<void>;
};

/**
 * States: idle -> loading (notify) -> idle (all loaded) or waiting (a load failed) -> loading (after the wait).
 * Closing is taken up in idle and waiting at once, in loading after the batch.
 */
export function startLoader(options: LoaderOptions): Loader {
  const { clock } = options;
  const journal = new JournalLoader(options);
  const stop = new AbortController();
  const grown = new Set<string>();
  let scannedAtMs = -Infinity;
  let wanted = true;
  let prepared = false;
  let failure: unknown = null;
  let waitMs = FIRST_WAIT_MS;
  let wake: () => void = () => undefined;
  let waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  const settle = (act: (waiter: (typeof waiters)[number]) => void): void => {
    const settled = waiters;
    waiters = [];
    settled.forEach(act);
  };

  const once = async (): Promise<void> => {
    const waiting = waiters;
    waiters = [];
    const segments = [...grown];
    grown.clear();
    const scan = failure !== null || waiting.length > 0 || clock.monotonicMs() - scannedAtMs >= SCAN_EVERY_MS;
    try {
      if (!prepared) await options.prepare?.();
      prepared = true;
      if (scan) await journal.loadAll();
      else await journal.loadSegments(segments);
      if (scan) scannedAtMs = clock.monotonicMs();
      if (failure !== null) options.onRecovered?.();
      failure = null;
      waitMs = FIRST_WAIT_MS;
      waiting.forEach(({ resolve }) => resolve());
    } catch (error) {
      failure = await explain(options.pool, error);
      waiting.forEach(({ reject }) => reject(failure));
      wanted = true;
      await outlast(failure);
    }
  };

  /** Waits, and brings the database back; as long as that fails there is nothing to load into. */
  const outlast = async (error: unknown): Promise<void> => {
    for (let reason: unknown = error; reason !== null;) {
      failure = reason;
      const wait = isRetryable(reason) ? waitMs : STUCK_WAIT_MS;
      options.onFailure?.(reason, wait);
      if (stop.signal.aborted) return;
      await clock.sleep(wait, stop.signal).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      if (stop.signal.aborted) return;
      reason = await (options.revive?.() ?? Promise.resolve()).then(
        () => null,
        (why: unknown) => why,
      );
      if (reason !== null) settle(({ reject }) => reject(reason));
    }
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      if (!wanted) await new Promise<void>((resolve) => (wake = resolve));
      if (stop.signal.aborted) break;
      wanted = false;
      await once();
    }
  };
  const running = run();

  return {
    notify: (segment) => {
      grown.add(segment);
      wanted = true;
      wake();
    },
    drain: () =>
      new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
        wanted = true;
        wake();
      }),
    failure: () => failure,
    close: async (graceMs) => {
      stop.abort();
      wake();
      let ended = false;
      const last = running
        .then(() => journal.loadAll())
        .then(
          () => {
            // Whatever was in the way before, everything is loaded.
            [ended, failure] = [true, null];
            settle(({ resolve }) => resolve());
          },
          (error: unknown) => {
            [ended, failure] = [true, error];
            settle(({ reject }) => reject(error));
          },
        );
      await atMost(graceMs, last, clock);
      if (!ended)
        failure = new LoadCutShort(`the last load did not end within ${graceMs} ms`, { cause: failure });
    },
  };
}
