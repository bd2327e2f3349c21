/**
 * Loads the archive from the journal: once, or beside the collector. A database that is away is waited for; the journal keeps
 * growing meanwhile.
 */
import { atMost, dateOf, type Instant } from "../../ground/clock.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { isRetryable } from "../connect/databaseError.ts";
import { explain } from "../connect/explain.ts";
import { makeDueBars } from "../schema/makeBars.ts";
import type { LoadReport } from "./batch.ts";
import { JournalLoader, type JournalOptions } from "./journalLoader.ts";

export type LoaderOptions = JournalOptions & {
  /** Called when a load failed; it is tried again after `waitMs`. */
  onFailure?: (error: unknown, waitMs: number) => void;
  /** Called once when loads succeed again after a failure. */
  onRecovered?: () => void;
  /** Done once before the first load, as soon as the database can be reached (its schema). */
  prepare?: () => Promise<void>;
  /** Tries to bring the database back, between attempts (the embedded server). Why it cannot is told to `onFailure`. */
  revive?: () => Promise<void>;
};

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
export async function loadAll(options: JournalOptions): Promise<LoadReport> {
  const journal = new JournalLoader(options);
  await journal.loadAll();
  await makeDueBars(options.pool);
  return journal.report;
}

/** Loads one segment from a position on. Throws the database's errors; whole batches stay. */
export async function loadSegment(
  options: JournalOptions,
  segment: string,
  position: number,
): Promise<LoadReport> {
  const journal = new JournalLoader(options);
  await journal.loadSegment(segment, position);
  await makeDueBars(options.pool);
  return journal.report;
}

export type Loader = {
  /** Says that a segment of the journal has grown. Returns at once. */
  notify: (segment: string) => void;
  /** Resolves when all that was in the journal at the call and can be read is loaded, or rejects with the error in the way. */
  drain: () => Promise<void>;
  /** Bytes of the journal that the database has not taken; null when it cannot be asked. Cheap enough to be asked often. */
  behind: () => Promise<number | null>;
  /** Time of the oldest record that was loaded late since this was last asked; null: none was. */
  takeLate: () => Instant | null;
  /**
   * The error that keeps it from loading at the moment, null when all is well; after `close`, when all is loaded. DATABASE_SLOW then:
   * the last load has not ended, and nobody knows whether the database has all of it.
   */
  failure: () => unknown;
  /** Ends the loader after one last attempt to load what is there, within `graceMs`. */
  close: (graceMs: number) => Promise<void>;
};

export function startLoader(options: LoaderOptions): Loader {
  return new LastingLoader(options);
}

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
  /** Rows came since bars were made. */
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
    const [detail, cause] = [`the last load did not end within ${graceMs} ms`, this.#failure];
    this.#failure = new QuotekeeperError("DATABASE_SLOW", detail, { cause });
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

  /** Waits, and revives the database; as long as that fails there is nothing to load into. */
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
