/** Loads segments of the journal in their order, from the position that the database itself keeps. */
import type pg from "pg";
import type { Clock, Instant } from "../../ground/clock.ts";
import { listSegments } from "../../journal/segments.ts";
import { commitsSettled } from "../tiers/citus/door.ts";
import { firstOf, type LoadReport, NOTHING_LOADED } from "./batch.ts";
import { addCounts } from "./letterCounts.ts";
import { createMemory, loadBatch } from "./loadBatch.ts";
import { readLag, readPositions, type Part } from "./loadPosition.ts";
import { type DamagedBytes, readAhead, readBatches } from "./readBatches.ts";

export type JournalOptions = {
  pool: pg.Pool;
  journalDir: string;
  clock: Clock;
  /** `keptTo` of the journal that this process writes. Default: this process writes none. */
  keptTo?: (segment: string) => number;
  /** Called after each commit, with the time of the first record of what was loaded. */
  onLoaded?: (report: LoadReport, first: Instant | null) => void;
  /** Called for bytes of the journal that hold no whole record, and once for a file that cannot be read; they are passed over. */
  onDamage?: (damage: DamagedBytes) => void;
};

/** Remembers from one load to the next, to ask the database less. */
export class JournalLoader {
  readonly #options: JournalOptions;
  readonly #memory = createMemory();
  #hasSettled = false;
  /** The segment that it has loaded last, and how far. */
  #last: Pick<Part, "segment" | "to"> | null = null;
  /** Segments that nobody writes to any more, and the database has all of. */
  #whole: ReadonlySet<string> = new Set();
  /** Segments whose files could not be read to their ends. All others are loaded; these are tried again. */
  readonly unreadable = new Set<string>();
  report = NOTHING_LOADED;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  async loadAll(): Promise<void> {
    const { pool, journalDir } = this.#options;
    // A load before this one may have been killed, or its server.
    if (!this.#hasSettled) await commitsSettled(pool);
    this.#hasSettled = true;
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
    this.#last = null;
    for (let from: number | null = position; from !== null;) from = await this.#loadFrom(segment, from);
  }

  /** @returns where to go on: another program has loaded some of it; null: all is loaded */
  async #loadFrom(segment: string, from: number): Promise<number | null> {
    const { pool, journalDir, keptTo, onDamage, onLoaded } = this.#options;
    let [failed, to] = [false, from];
    const read = readBatches(segment, {
      journalDir,
      from,
      until: keptTo?.(segment),
      mayBeGone: true,
      onDamage: (damage) => {
        failed ||= damage.unreadable !== undefined;
        if (!failed || !this.unreadable.has(segment)) onDamage?.(damage);
      },
    });
    for await (const batch of readAhead(read)) {
      if (batch.to === batch.from) continue;
      const loaded = await loadBatch(pool, batch, { memory: this.#memory });
      if (loaded === null) return (await readPositions(pool, [segment])).get(segment) ?? 0;
      to = batch.to;
      this.report = addCounts(this.report, loaded);
      onLoaded?.(loaded, firstOf(batch));
    }
    if (failed) this.unreadable.add(segment);
    else this.unreadable.delete(segment);
    this.#last = { segment, to };
    return null;
  }
}
