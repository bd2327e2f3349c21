/** Follows what all processes write to the journal: the calls of a collector that runs beside appear there. */
import { join } from "node:path";
import { errnoOf, nodeFs } from "../../journal/fs.ts";
import { readSegment } from "../../journal/reader.ts";
import type { JournalRecord } from "../../journal/record.ts";
import {
  hourOf,
  segmentFile,
  segmentHour,
  segmentOfFile,
  type SegmentState,
} from "../../journal/segmentName.ts";
import { filesOf } from "../../journal/segments.ts";

/** A segment's records belong to its hour; a clock that is set back goes on in it for an hour more. */
const HOURS_BEFORE = 2;

/** How far a segment was read, and the state it was in then. */
type Known = { end: number; state: SegmentState };

export class JournalFollower {
  readonly #dir: string;
  readonly #known = new Map<string, Known>();
  #looked = false;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * What has been written since the last look; at the first one what may be of `sinceMs` or later, and some before it.
   *
   * @throws QuotekeeperError JOURNAL_UNREADABLE
   */
  async look(sinceMs: number): Promise<JournalRecord[]> {
    const records: JournalRecord[] = [];
    const first = !this.#looked;
    this.#looked = true;
    for (const [name, state] of await this.#segments(hourOf(sinceMs) - HOURS_BEFORE)) {
      const known = this.#known.get(name);
      // What nobody appends to any more, and was read in that state, holds nothing new.
      if (known && known.state !== "open" && state !== "open") continue;
      if (first && (await this.#writtenAtMs(name, state)) < sinceMs) {
        this.#known.set(name, { end: 0, state: "closed" });
        continue;
      }
      let end = known?.end ?? 0;
      for await (const item of readSegment(this.#dir, name, { from: end, mayBeGone: true })) {
        if (item.kind === "record") records.push(item.record);
        if (item.kind !== "damage") end = item.end;
      }
      this.#known.set(name, { end, state });
    }
    return records;
  }

  async #segments(firstHour: number): Promise<Map<string, SegmentState>> {
    const segments = new Map<string, SegmentState>();
    for (const file of (await filesOf(this.#dir, nodeFs)).sort()) {
      const segment = segmentOfFile(file);
      if (segment === null || (segmentHour(segment.name) ?? 0) < firstHour) continue;
      // One that lies there in two states is still in the first of them.
      if (segments.get(segment.name) !== "open") segments.set(segment.name, segment.state);
    }
    return segments;
  }

  async #writtenAtMs(name: string, state: SegmentState): Promise<number> {
    return nodeFs.stat(join(this.#dir, segmentFile(name, state))).then(
      ({ mtimeMs }) => mtimeMs,
      (error: unknown) => {
        // It has moved on to a later state since the directory was read.
        if (errnoOf(error) === "ENOENT") return Infinity;
        throw error;
      },
    );
  }
}
