/** Loads segments of the journal in their order, from the position that the database itself keeps. */
import type pg from "pg";
import type { Clock, Instant } from "../../clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { EVER } from "../../journal/record.ts";
import { listSegments } from "../../journal/segments.ts";
import { PlainReader } from "../../read/plainRows.ts";
import { commitsSettled } from "../tiers/citus/door.ts";
import { type Batch, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { addCounts } from "./letterCounts.ts";
import { JOURNAL_POSITION, readLag, readPositions, type Part } from "./loadPosition.ts";
import { type DamagedBytes, readBatches, SMALL_BATCH_BYTES } from "./readBatches.ts";
import { readStretches } from "./readStretches.ts";
import { followSightings } from "./refreshInstruments.ts";
import { LoadedByAnother, StretchLoader } from "./stretchLoader.ts";

/** What a load needs, and whom it notifies. */
export type JournalOptions = {
  pool: pg.Pool;
  journalDir: string;
  clock: Clock;
  /** As the journal has it that is written meanwhile. Default: nobody of this process writes. */
  keptTo?: (segment: string) => number;
  /** Called after each commit, with the time of the first record of what was loaded. */
  onLoaded?: (report: LoadReport, first: Instant | null) => void;
  /** Called for bytes of the journal that hold no whole record, and once for a file that cannot be read; they are passed over. */
  onDamage?: (damage: DamagedBytes) => void;
};

/** Remembers from one load to the next, to ask the database less. */
export class JournalLoader {
  readonly #options: JournalOptions;
  readonly #stretches: StretchLoader;
  readonly #reader = new PlainReader();
  #hasFollowed = false;
  /** The segment that it has loaded last, and how far. */
  #last: Pick<Part, "segment" | "to"> | null = null;
  /** Segments that nobody writes to any more, and the database has all of. */
  #whole: ReadonlySet<string> = new Set();
  /** Segments whose files could not be read to their ends. All others are loaded; these are tried again. */
  readonly unreadable = new Set<string>();
  /** The sum of all loads. */
  report = NOTHING_LOADED;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#stretches = new StretchLoader({
      pool: options.pool,
      position: JOURNAL_POSITION,
      today: () => exchangeDate(options.clock.now()),
      reread: (part) => this.#reread(part),
      onLoaded: (loaded, first) => {
        this.report = addCounts(this.report, loaded);
        options.onLoaded?.(loaded, first);
      },
    });
  }

  async loadAll(): Promise<void> {
    const { pool, journalDir } = this.#options;
    // A load before this one may have been killed, or its server.
    if (!this.#hasFollowed) {
      await commitsSettled(pool);
      await followSightings(pool);
      this.#hasFollowed = true;
    }
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

  /** Bytes that the database lacks. Segments that were loaded whole at the last look are not looked at again. */
  async behind(): Promise<number> {
    const { pool, journalDir } = this.#options;
    return (await readLag(pool, journalDir, (segment) => !this.#whole.has(segment))).bytes;
  }

  /** Goes on where it has stopped itself: each transaction finds out whether the database's position is the same. */
  async loadSegments(segments: readonly string[]): Promise<void> {
    const last = this.#last;
    const others = segments.filter((segment) => segment !== last?.segment);
    const positions = others.length > 0 ? await readPositions(this.#options.pool, others) : null;
    for (const segment of segments)
      await this.loadSegment(segment, segment === last?.segment ? last.to : (positions?.get(segment) ?? 0));
  }

  async loadSegment(segment: string, position: number): Promise<void> {
    const { pool, journalDir, keptTo, onDamage } = this.#options;
    this.#last = null;
    for (let from = position; ;) {
      let [failed, to] = [false, from];
      try {
        // An import that was ended in its midst: as its own run would have loaded it, down to the numbers of instruments.
        const what = { journalDir, range: EVER, mayBeGone: true, alone: "imports" } as const;
        const parts = [{ name: segment, from, until: keptTo?.(segment) }];
        for await (const read of readStretches({ ...what, parts }, this.#reader))
          if ("stretch" in read) {
            await this.#stretches.add(read.stretch);
            to = read.stretch.to;
          } else {
            failed ||= read.damage.unreadable !== undefined;
            if (!failed || !this.unreadable.has(segment)) onDamage?.(read.damage);
          }
        if (failed) this.unreadable.add(segment);
        else this.unreadable.delete(segment);
        await this.#stretches.finish();
        this.#last = { segment, to };
        return;
      } catch (error) {
        await this.#stretches.abandon();
        if (!(error instanceof LoadedByAnother)) throw error;
        // Another program has loaded some of it: go on where it stopped.
        from = (await readPositions(pool, [segment])).get(segment) ?? 0;
      }
    }
  }

  async *#reread({ segment, from, to }: Part): AsyncGenerator<Batch, void> {
    const { journalDir } = this.#options;
    const what = { journalDir, from, until: to, mayBeGone: true, maxBytes: SMALL_BATCH_BYTES };
    for await (const batch of readBatches(segment, what)) if (batch.to > batch.from) yield batch;
  }
}
