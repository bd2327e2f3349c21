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
 * A directory that was removed or unmounted is made again at the next append. The segments that were in it are listed in the new
 * one, so that they count as missing until somebody brings them back or accepts that they are gone.
 */
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import { ensureJournalDir } from "./dataDir.ts";
import { contentOf, type Content } from "./frame.ts";
import { errnoOf, fileSystem, reasonOf, type JournalFs } from "./fs.ts";
import type { Readers } from "./modes.ts";
import type { JournalRecord } from "./record.ts";
import { hourOf } from "./segmentName.ts";
import { createSegment, SegmentGone, type Position, type SegmentWriter } from "./segmentWriter.ts";
import { JUST_BEGUN, type ListedSegment, readSegmentList } from "./segmentList.ts";
import { journalBytes, segmentInfo } from "./segments.ts";
import { createUpkeep, inBackground, type Upkeep } from "./upkeep.ts";
import { bytes } from "../ground/figures.ts";

type JournalOptions = {
  dir: string;
  clock: Clock;
  /** Default: the owner. */
  readers?: Readers;
  /** Default: the machine's file system. */
  fs?: JournalFs;
  /** A segment is finished when the next record would make it larger, in bytes. Default 64 MiB. */
  maxSegmentBytes?: number;
  /** An append is refused that would make all segments together larger, in bytes of disk. Default: no cap. */
  maxTotalBytes?: number | undefined;
  /** Hears of problems where nobody waits for an answer. Must not throw. */
  onProblem: (problem: QuotekeeperError) => void;
  /** Hears once that files of the journal are gone, which were last seen at `since`. Must not throw. Default: nobody hears it. */
  onGone?: (since: Date) => void;
  /**
   * Whether old segments are looked after in the background: damage of a crash is set aside, closed segments are
   * compressed. If not, that is left to `repairJournal` and `compressClosed`. Default true.
   */
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
  /** Compresses every segment that nobody appends to any more; resolves to their names. */
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

/** A write that takes longer until it is on the disk costs calls, in ms; with half of it 60 calls a minute are made. */
const SLOW_WRITE_MS = 2_000;
const SLOW_SAID_EVERY_MS = 60_000;

/** @returns null for a disk that costs no call */
export function slowDisk(dir: string, tookMs: number): QuotekeeperError | null {
  if (tookMs < SLOW_WRITE_MS) return null;
  return new QuotekeeperError(
    "DISK_SLOW",
    `${dir}: a write took ${(tookMs / 1_000).toFixed(1)} s until it was on the disk`,
  );
}

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
  const writer = new JournalWriter({ ...options, fs });
  await writer.start();
  return {
    append: (record) => writer.append(record),
    compressClosed: () => writer.compressClosed(),
    health: () => writer.health(),
    keptTo: (segment) => writer.keptTo(segment),
    close: () => writer.close(),
  };
}

type WaitingAppend = {
  content: Content;
  resolve: (position: Position) => void;
  reject: (error: QuotekeeperError) => void;
};

class JournalWriter {
  readonly #options: JournalOptions & { fs: JournalFs };
  readonly #maxSegmentBytes: number;
  readonly #stop = new AbortController();
  #waiting: WaitingAppend[] = [];
  #segment: SegmentWriter | null = null;
  #totalBytes = 0;
  #failure: QuotekeeperError | null = null;
  /** What the journal's list holds, as far as this writer has seen it. */
  #listed = new Map<string, ListedSegment>();
  /** Files are gone, and nothing was begun since. */
  #lists = false;
  /** When the segment's file was last seen in the directory. */
  #seenAt: Date;
  #hasToldGone = false;
  #slowSaidMs = -Infinity;
  /** The steps on the segment run one after the other; each waits for this. */
  #turn: Promise<unknown> = Promise.resolve();
  #flushPlanned = false;
  readonly #upkeep: Upkeep;

  constructor(options: JournalOptions & { fs: JournalFs }) {
    this.#options = options;
    this.#seenAt = options.clock.now();
    this.#upkeep = createUpkeep({ ...options, signal: this.#stop.signal });
    this.#maxSegmentBytes = options.maxSegmentBytes ?? DEFAULT_SEGMENT_BYTES;
  }

  async start(): Promise<void> {
    await this.#measure();
    const { dir, fs } = this.#options;
    const list = await readSegmentList(dir, fs).catch(() => null);
    this.#listed = new Map(list?.segments);
    this.#inBackground(() => this.#upkeep.setDamageAside());
    this.#inBackground(() => this.compressClosed());
  }

  append(record: JournalRecord): Promise<Position> {
    return new Promise((resolve, reject) => {
      if (this.#stop.signal.aborted)
        throw new QuotekeeperError("JOURNAL_CLOSED", `a ${record.kind} came after the journal was closed`);
      this.#waiting.push({ content: contentOf(record), resolve, reject });
      if (this.#flushPlanned) return;
      this.#flushPlanned = true;
      void this.#inTurn(() => this.#flush());
    });
  }

  async compressClosed(): Promise<string[]> {
    await this.#inTurn(() => this.#finishIfOver(0));
    const names = await this.#upkeep.compressClosed();
    if (names.length > 0) await this.#inTurn(() => this.#measure());
    return names;
  }

  health(): JournalHealth {
    return { segment: this.#segment?.name ?? null, totalBytes: this.#totalBytes, failure: this.#failure };
  }

  keptTo(segment: string): number {
    return this.#segment?.name === segment ? this.#segment.size() : Infinity;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#inTurn(() => this.#finish());
    await this.#upkeep.settled();
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#finishIfOver(this.#waiting[0]?.content.frameBytes ?? 0);
      const group = await this.#takeGroup();
      if (group.length > 0) await this.#commit(group);
    }
    this.#flushPlanned = false;
  }

  /** The next records that fit into the segment and under the cap; refuses those that exceed the cap. */
  async #takeGroup(): Promise<WaitingAppend[]> {
    const { maxTotalBytes = Infinity } = this.#options;
    const group: WaitingAppend[] = [];
    let bytes = 0;
    let measured = false;
    const room = Math.min(MAX_GROUP_BYTES, this.#maxSegmentBytes - (this.#segment?.size() ?? 0));
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
        this.#refuse([next], this.#full(frameBytes, maxTotalBytes));
        continue;
      }
      group.push(next);
      bytes += frameBytes;
    }
    return group;
  }

  async #commit(group: WaitingAppend[], again = true): Promise<void> {
    const { dir, clock, onProblem } = this.#options;
    let doing = `${dir}: a new segment cannot be made`;
    try {
      this.#segment ??= await this.#begin();
      doing = `${this.#segment.path} cannot be written`;
      const beganMs = clock.monotonicMs();
      const positions = await this.#segment.write(group.map(({ content }) => content));
      this.#saySlow(clock.monotonicMs() - beganMs);
      this.#failure = null;
      this.#seenAt = clock.now();
      this.#totalBytes += positions.reduce((sum, { offset, end }) => sum + end - offset, 0);
      group.forEach(({ resolve }, index) => resolve(positions[index] as Position));
    } catch (cause) {
      const segment = this.#segment;
      if (cause instanceof SegmentGone) await this.#lookFor(segment);
      await segment?.abandon();
      this.#segment = null;
      if (segment?.size() === 0) this.#listed.delete(segment.name);
      const why = cause instanceof SegmentGone ? "it is no longer in its directory" : reasonOf(cause);
      const error = new QuotekeeperError("JOURNAL_WRITE_FAILED", `${doing}: ${why}`, { cause });
      if (!(cause instanceof SegmentGone) || !again) return this.#refuse(group, error);
      // Files that are gone have been told.
      if (!this.#lists || !this.#options.onGone) onProblem(error);
      await this.#commit(group, false);
    }
  }

  /** A new segment, in a directory that is made again where it is gone. */
  async #begin(): Promise<SegmentWriter> {
    const { fs, dir, clock, onProblem } = this.#options;
    const create = (): Promise<SegmentWriter> =>
      createSegment({ fs, dir, clock, onProblem, lost: this.#lists ? this.#listed : new Map() });
    const segment = await create().catch(async (error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
      this.#saysGone();
      await fs.mkdir(dir);
      return create();
    });
    if (this.#lists) await this.#measure().catch(() => undefined);
    this.#lists = false;
    this.#listed = new Map([...this.#listed, ...segment.listed, [segment.name, JUST_BEGUN]]);
    return segment;
  }

  /** Tells whether a segment's file, which lost its name, has another one: somebody closed it then, and else it is gone. */
  async #lookFor(segment: SegmentWriter | null): Promise<void> {
    const { dir, fs } = this.#options;
    const found = segment && (await segmentInfo(dir, segment.name, fs).catch(() => segment));
    if (found === null) this.#saysGone();
  }

  #saysGone(): void {
    this.#lists = true;
    if (this.#hasToldGone) return;
    this.#hasToldGone = true;
    this.#options.onGone?.(this.#seenAt);
  }

  #saySlow(tookMs: number): void {
    const slow = slowDisk(this.#options.dir, tookMs);
    const nowMs = this.#options.clock.monotonicMs();
    if (slow === null || nowMs - this.#slowSaidMs < SLOW_SAID_EVERY_MS) return;
    this.#slowSaidMs = nowMs;
    this.#options.onProblem(slow);
  }

  #refuse(group: WaitingAppend[], error: QuotekeeperError): void {
    this.#failure = error;
    for (const { reject } of group) reject(error);
  }

  #full(frameBytes: number, maxTotalBytes: number): QuotekeeperError {
    const detail = `${this.#options.dir} holds ${bytes(this.#totalBytes)} of at most ${bytes(maxTotalBytes)}`;
    return new QuotekeeperError("JOURNAL_FULL", `${detail}; a record of ${bytes(frameBytes)} was refused`);
  }

  /** Finishes the segment when its hour is over or `nextBytes` more would make it too large. */
  async #finishIfOver(nextBytes: number): Promise<void> {
    if (this.#segment === null) return;
    const hours = hourOf(this.#options.clock.now().getTime()) - this.#segment.hour;
    const isOver = hours > 0 || hours < -SET_BACK_HOURS;
    const size = this.#segment.size();
    if (!isOver && (size === 0 || size + nextBytes <= this.#maxSegmentBytes)) return;
    await this.#finish();
    // Other processes write here too: their bytes count for the cap from now on.
    await this.#measure().catch(() => undefined);
    this.#inBackground(() => this.compressClosed());
  }

  async #finish(): Promise<void> {
    const segment = this.#segment;
    this.#segment = null;
    try {
      await segment?.finish();
    } catch (cause) {
      // Its records are on disk. The file keeps the name of an open segment, and is closed when its hour is
      // long over.
      const detail = `${segment?.path ?? ""} cannot be closed: ${errnoOf(cause)}`;
      if (errnoOf(cause) === "ENOENT") await this.#lookFor(segment);
      else this.#options.onProblem(new QuotekeeperError("JOURNAL_COMPRESSION_FAILED", detail, { cause }));
    }
  }

  #inBackground(step: () => Promise<unknown>): void {
    if (this.#options.upkeep !== false && !this.#stop.signal.aborted) inBackground(step, this.#options);
  }

  async #measure(): Promise<void> {
    this.#totalBytes = await journalBytes(this.#options.dir, this.#options.fs);
  }
}
