/**
 * What a journal's list holds, as far as its writer has seen it. Where the files are gone from their directory, it says so once, and
 * the segments are listed again with the next one: so they count as missing until somebody brings them back or accepts that.
 */
import type { Clock } from "../ground/clock.ts";
import type { JournalFs } from "./fs.ts";
import { JUST_BEGUN, type ListedSegment, readSegmentList } from "./segmentList.ts";
import { segmentInfo } from "./segments.ts";
import type { SegmentWriter } from "./segmentWriter.ts";

type ListedOptions = {
  dir: string;
  fs: JournalFs;
  clock: Pick<Clock, "now">;
  onGone?: ((since: Date) => void) | undefined;
};

export class ListedFiles {
  readonly #options: ListedOptions;
  #listed = new Map<string, ListedSegment>();
  /** When a segment's file was last seen in the directory. */
  #seenAt: Date;
  #hasToldGone = false;
  /** Files are gone, and nothing was begun since. */
  areGone = false;

  constructor(options: ListedOptions) {
    this.#options = options;
    this.#seenAt = options.clock.now();
  }

  async read(): Promise<void> {
    const { dir, fs } = this.#options;
    this.#listed = new Map((await readSegmentList(dir, fs).catch(() => null))?.segments);
  }

  /** Segments that a new one lists again. */
  get lost(): ReadonlyMap<string, ListedSegment> {
    return this.areGone ? this.#listed : new Map();
  }

  begun({ name, listed }: Pick<SegmentWriter, "name" | "listed">): void {
    this.areGone = false;
    this.#listed = new Map([...this.#listed, ...listed, [name, JUST_BEGUN]]);
  }

  written(): void {
    this.#seenAt = this.#options.clock.now();
  }

  /** A segment without a record is taken off the list. */
  abandoned({ name, size }: Pick<SegmentWriter, "name" | "size">): void {
    if (size() === 0) this.#listed.delete(name);
  }

  /** Tells whether a segment's file, which lost its name, has another one: somebody closed it then, and else it is gone. */
  async lookFor({ name }: Pick<SegmentWriter, "name">): Promise<void> {
    const { dir, fs } = this.#options;
    if ((await segmentInfo(dir, name, fs).catch(() => name)) === null) this.gone();
  }

  gone(): void {
    this.areGone = true;
    if (this.#hasToldGone) return;
    this.#hasToldGone = true;
    this.#options.onGone?.(this.#seenAt);
  }
}
