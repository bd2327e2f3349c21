/**
 * Appends records, several processes at a time, each to segments of its own.
 *
 * Group commit: appends that arrive while a write is under way are written and synced together by the
 * next one; an append that finds the journal idle is written at once.
 *
 * A segment is finished when its hour is over or it is full, and abandoned when a write or sync fails:
 * after a failed sync nobody knows what is on disk, so nothing is ever appended behind it. The next
 * append begins a new segment, and so work resumes by itself when space returns.
 *
 * A directory that was removed or unmounted is made again at the next append (listedFiles.ts).
 */
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { ensureJournalDir } from "./dataDir.ts";
import { contentOf, type Content } from "./frame.ts";
import { errnoOf, fileSystem, reasonOf, type JournalFs } from "./fs.ts";
import { ListedFiles } from "./listedFiles.ts";
import type { Readers } from "./modes.ts";
import type { JournalRecord } from "./record.ts";
import { hourOf } from "./segmentName.ts";
import { createSegment, type Position, type SegmentWriter } from "./segmentWriter.ts";
import { journalBytes } from "./segments.ts";
import { measuring } from "./slowDisk.ts";
import { createUpkeep, inBackground, type Upkeep } from "./upkeep.ts";
import { bytes as inBytes } from "../ground/figures.ts";

type JournalOptions = {
  dir: string;
  clock: Clock;
  readers?: Readers;
  fs?: JournalFs;
  /** A segment is finished when the next record would make it larger, in bytes. Default 64 MiB. */
  maxSegmentBytes?: number;
  /** An append is refused that would make all segments together larger, in bytes of disk. Default: no cap. */
  maxTotalBytes?: number | undefined;
  /** Hears of problems where nobody waits for an answer. Must not throw. */
  onProblem: (problem: QuotekeeperError) => void;
  /** Hears once that files of the journal are gone, which were last seen at `since`. Must not throw. Default: nobody hears it. */
  onGone?: (since: Date) => void;
  /** Whether damage of a crash is set aside, and closed segments are compressed, in the background. Default true. */
  upkeep?: boolean;
};

export type JournalHealth = {
  /** Null before the first append and after a failure. */
  segment: string | null;
  totalBytes: number;
  /** Why the last append was refused; null when it was accepted. */
  failure: QuotekeeperError | null;
};

export type Journal = {
  /**
   * Resolves when the record is on disk. Rejects with QuotekeeperError JOURNAL_WRITE_FAILED, JOURNAL_FULL,
   * JOURNAL_RECORD_TOO_LARGE or JOURNAL_CLOSED; then the record was not kept.
   */
  append: (record: JournalRecord) => Promise<Position>;
  /** Resolves to the names of the segments that it has compressed. */
  compressClosed: () => Promise<string[]>;
  health: () => JournalHealth;
  /**
   * @returns up to which offset a segment's records are kept: a failed write takes back what lies behind it. Infinity for a
   * segment that this journal does not write.
   */
  keptTo: (segment: string) => number;
  /** Waits for all appends, closes the segment, stops compressing. */
  close: () => Promise<void>;
};

const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;

/** A group of records is written together; this bounds its memory. */
const MAX_GROUP_BYTES = 16 * 1024 * 1024;

/** A clock set back by less than this goes on in the same segment instead of opening one of an earlier name. */
const SET_BACK_HOURS = 1;

/**
 * Opens a journal for appending. No file is made before the first append.
 *
 * @throws QuotekeeperError DATA_DIR_UNWRITABLE
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const fs = options.fs ?? fileSystem(options.readers ?? "owner");
  await ensureJournalDir(options.dir, fs);
  const { maxSegmentBytes = DEFAULT_SEGMENT_BYTES } = options;
  const writer = new JournalWriter({ ...options, fs, maxSegmentBytes });
  await writer.start();
  return writer;
}

type WaitingAppend = {
  content: Content;
  resolve: (position: Position) => void;
  reject: (error: QuotekeeperError) => void;
};

type WriterOptions = JournalOptions & { fs: JournalFs; maxSegmentBytes: number };

class JournalWriter implements Journal {
  readonly #options: WriterOptions;
  readonly #stop = new AbortController();
  #waiting: WaitingAppend[] = [];
  #segment: SegmentWriter | null = null;
  #totalBytes = 0;
  #failure: QuotekeeperError | null = null;
  /** The steps on the segment run one after the other; each waits for this. */
  #turn: Promise<unknown> = Promise.resolve();
  #flushPlanned = false;
  readonly #upkeep: Upkeep;
  readonly #measured: ReturnType<typeof measuring>;
  readonly #files: ListedFiles;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#upkeep = createUpkeep({ ...options, signal: this.#stop.signal });
    this.#measured = measuring(options);
    this.#files = new ListedFiles(options);
  }

  async start(): Promise<void> {
    await this.#measure();
    await this.#files.read();
    this.#inBackground(this.#upkeep.setDamageAside);
    this.#inBackground(this.compressClosed);
  }

  readonly append = (record: JournalRecord): Promise<Position> =>
    new Promise((resolve, reject) => {
      if (this.#stop.signal.aborted)
        throw new QuotekeeperError("JOURNAL_CLOSED", `a ${record.kind} came after the journal was closed`);
      this.#waiting.push({ content: contentOf(record), resolve, reject });
      if (this.#flushPlanned) return;
      this.#flushPlanned = true;
      void this.#inTurn(() => this.#flush());
    });

  readonly compressClosed = async (): Promise<string[]> => {
    await this.#inTurn(() => this.#finishIfOver(0));
    const names = await this.#upkeep.compressClosed();
    if (names.length > 0) await this.#inTurn(() => this.#measure());
    return names;
  };

  readonly health = (): JournalHealth => ({
    segment: this.#segment?.name ?? null,
    totalBytes: this.#totalBytes,
    failure: this.#failure,
  });

  readonly keptTo = (segment: string): number =>
    this.#segment?.name === segment ? this.#segment.size() : Infinity;

  readonly close = async (): Promise<void> => {
    this.#stop.abort();
    await this.#inTurn(() => this.#finish());
    await this.#upkeep.settled();
  };

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #flush(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      await this.#finishIfOver(next.content.frameBytes);
      const group = await this.#takeGroup();
      if (group.length > 0) await this.#commit(group);
    }
    this.#flushPlanned = false;
  }

  /** The next records that fit into the segment and under the cap; refuses those that exceed the cap. */
  async #takeGroup(): Promise<WaitingAppend[]> {
    const { dir, maxSegmentBytes, maxTotalBytes = Infinity } = this.#options;
    const group: WaitingAppend[] = [];
    let bytes = 0;
    let measured = false;
    const room = Math.min(MAX_GROUP_BYTES, maxSegmentBytes - (this.#segment?.size() ?? 0));
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { frameBytes } = next.content;
      if (group.length > 0 && bytes + frameBytes > room) break;
      if (this.#totalBytes + bytes + frameBytes > maxTotalBytes && !measured) {
        // Somebody may have made room since.
        await this.#measure().catch(() => undefined);
        measured = true;
      }
      this.#waiting.shift();
      if (this.#totalBytes + bytes + frameBytes > maxTotalBytes) {
        const detail = `${dir} holds ${inBytes(this.#totalBytes)} of at most ${inBytes(maxTotalBytes)}`;
        this.#refuse(
          [next],
          new QuotekeeperError("JOURNAL_FULL", `${detail}; a record of ${inBytes(frameBytes)} was refused`),
        );
        continue;
      }
      group.push(next);
      bytes += frameBytes;
    }
    return group;
  }

  async #commit(group: WaitingAppend[], again = true): Promise<void> {
    let doing = `${this.#options.dir}: a new segment cannot be made`;
    try {
      const segment = (this.#segment ??= await this.#begin());
      doing = `${segment.path} cannot be written`;
      const contents = group.map(({ content }) => content);
      const positions = await this.#measured(() => segment.write(contents));
      if (positions === null) return await this.#commitAnew(group, segment, again);
      this.#failure = null;
      this.#files.written();
      this.#totalBytes += positions.reduce((sum, { offset, end }) => sum + end - offset, 0);
      group.forEach(({ resolve }, index) => resolve(positions[index] as Position));
    } catch (cause) {
      await this.#abandon();
      const detail = `${doing}: ${reasonOf(cause)}`;
      this.#refuse(group, new QuotekeeperError("JOURNAL_WRITE_FAILED", detail, { cause }));
    }
  }

  /** Writes a group into another segment, once: the file of the one that it was written to is gone from its directory. */
  async #commitAnew(group: WaitingAppend[], segment: SegmentWriter, again: boolean): Promise<void> {
    await this.#files.lookFor(segment);
    await this.#abandon();
    const detail = `${segment.path} cannot be written: it is no longer in its directory`;
    const error = new QuotekeeperError("JOURNAL_WRITE_FAILED", detail);
    if (!again) return this.#refuse(group, error);
    // Files that are gone have been told.
    if (!this.#files.areGone || !this.#options.onGone) this.#options.onProblem(error);
    await this.#commit(group, false);
  }

  async #abandon(): Promise<void> {
    const segment = this.#segment;
    await segment?.abandon();
    this.#segment = null;
    if (segment !== null) this.#files.abandoned(segment);
  }

  /** A new segment, in a directory that is made again where it is gone. */
  async #begin(): Promise<SegmentWriter> {
    const { fs, dir, clock, onProblem } = this.#options;
    const create = (): Promise<SegmentWriter> =>
      createSegment({ fs, dir, clock, onProblem, lost: this.#files.lost });
    const segment = await create().catch(async (error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
      this.#files.gone();
      await fs.mkdir(dir);
      return create();
    });
    if (this.#files.areGone) await this.#measure().catch(() => undefined);
    this.#files.begun(segment);
    return segment;
  }

  #refuse(group: WaitingAppend[], error: QuotekeeperError): void {
    this.#failure = error;
    for (const { reject } of group) reject(error);
  }

  /** Finishes the segment when its hour is over or `nextBytes` more would make it too large. */
  async #finishIfOver(nextBytes: number): Promise<void> {
    if (this.#segment === null) return;
    const hours = hourOf(this.#options.clock.now().getTime()) - this.#segment.hour;
    const isOver = hours > 0 || hours < -SET_BACK_HOURS;
    const size = this.#segment.size();
    if (!isOver && (size === 0 || size + nextBytes <= this.#options.maxSegmentBytes)) return;
    await this.#finish();
    // Other processes write here too: their bytes count for the cap from now on.
    await this.#measure().catch(() => undefined);
    this.#inBackground(this.compressClosed);
  }

  async #finish(): Promise<void> {
    const segment = this.#segment;
    if (segment === null) return;
    this.#segment = null;
    try {
      await segment.finish();
    } catch (cause) {
      // Its records are on disk. The file keeps the name of an open segment, and is closed when its hour is long over.
      const detail = `${segment.path} cannot be closed: ${errnoOf(cause)}`;
      if (errnoOf(cause) === "ENOENT") await this.#files.lookFor(segment);
      else this.#options.onProblem(new QuotekeeperError("JOURNAL_COMPRESSION_FAILED", detail, { cause }));
    }
  }

  #inBackground(step: () => Promise<unknown>): void {
    if (this.#options.upkeep !== false && !this.#stop.signal.aborted) inBackground(step, this.#options);
  }

  async #measure(): Promise<void> {
    const { dir, fs } = this.#options;
    this.#totalBytes = await journalBytes(dir, fs);
  }
}
