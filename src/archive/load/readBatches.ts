/** Cuts a segment of the journal into batches that are ready to be loaded. */
import { setImmediate } from "node:timers/promises";
import { readSegment } from "../../journal/reader.ts";
import type { JournalRecord } from "../../journal/record.ts";
import { isLedgerNote } from "../../journal/ledger.ts";
import type { Batch } from "./batch.ts";
import { rowsOf } from "../../read/answerToRows.ts";
import { isFileCall } from "../../read/exportCall.ts";
import type { AnswerRows } from "../../read/rowTypes.ts";
import type { ReadAnswer } from "./readers.ts";

/** Most records of a batch. Larger ones load no faster; live, a batch is the one answer that has just come. */
const BATCH_RECORDS = 5_000;

/** Most bytes of their bodies: what one transaction holds, and memory with it, about five times as much. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** A row of a file is so many times as short as a quote of an answer. */
const FILE_WEIGHT = 10;

export type DamagedBytes = {
  segment: string;
  offset: number;
  length: number;
  reason: string;
  /** The message of JOURNAL_UNREADABLE where the file cannot be read from there on; a later load goes on there. */
  unreadable?: string;
};

/** The fields of a log's line, and the line for people. */
export function damageSaid({ unreadable, ...facts }: DamagedBytes): [fields: object, line: string] {
  return [facts, unreadable ?? "damaged bytes of the journal were passed over"];
}

type BatchOptions = {
  journalDir: string;
  /** Where to begin: 0 or a batch's `to`. */
  from: number;
  /** Where to end at the latest: a batch's `to`, or where a loader stands; default: at the segment's end. */
  until?: number | undefined;
  /** Whether a segment that is gone holds nothing: of those listed, a writer may take one back. Default: an error. */
  mayBeGone?: boolean;
  /** Records for which it is false are passed over; default: none is. */
  wanted?: (record: JournalRecord) => boolean;
  onDamage?: ((damage: DamagedBytes) => void) | undefined;
  read?: ReadAnswer | undefined;
};

/**
 * The batches of a segment, in its order; the last one may hold nothing and ends where a later read may go on. Between
 * records whatever else waits has its turn: a load under way goes on while the next batch is read.
 *
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function* readBatches(
  segment: string,
  {
    journalDir,
    from,
    until = Infinity,
    mayBeGone = false,
    wanted = () => true,
    onDamage,
    read = rowsOf,
  }: BatchOptions,
): AsyncGenerator<Batch, void, undefined> {
  let batch: Batch = emptyBatch(segment, from);
  let reading: (AnswerRows | Promise<AnswerRows>)[] = [];
  let bytes = 0;
  for await (const item of readSegment(journalDir, segment, { from, mayBeGone })) {
    if (item.kind === "damage") {
      const { offset, length, reason } = item.damage;
      onDamage?.({ segment, offset, length, reason });
      continue;
    }
    if (item.kind === "unreadable") {
      // The rest of the segment: at least a byte.
      const unreadable = item.error.message;
      onDamage?.({ segment, offset: batch.to, length: 1, reason: "unreadable", unreadable });
      break;
    }
    if (item.kind === "record" && item.offset >= until) break;
    batch.to = item.end;
    if (item.kind === "end") break;
    const { record } = item;
    if (!wanted(record)) continue;
    if (record.kind === "response") {
      bytes += record.body.byteLength * (isFileCall(record.request) ? FILE_WEIGHT : 1);
      const rows = read(record, { segment, offset: item.offset });
      reading.push(rows);
      if (!(rows instanceof Promise)) await setImmediate();
    } else if (isLedgerNote(record.note)) batch.notes.push({ at: record.at, note: record.note });
    if (reading.length + batch.notes.length < BATCH_RECORDS && bytes < BATCH_BYTES) continue;
    yield { ...batch, answers: await Promise.all(reading) };
    batch = emptyBatch(segment, batch.to);
    [reading, bytes] = [[], 0];
  }
  yield { ...batch, answers: await Promise.all(reading) };
}

/** The same batches: while one is loaded the next is read. */
export async function* readAhead(batches: AsyncGenerator<Batch, void>): AsyncGenerator<Batch, void> {
  let next = batches.next();
  try {
    for (let read = await next; !read.done; read = await next) {
      next = batches.next();
      // Its failure is met when it is awaited.
      next.catch(() => undefined);
      yield read.value;
    }
  } finally {
    await next.catch(() => undefined);
    await batches.return();
  }
}

function emptyBatch(segment: string, from: number): Batch {
  return { segment, from, to: from, answers: [], notes: [] };
}
