/** Reads segments of the journal into stretches, in this thread or in one of its own. */
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type ErrorCode, QuotekeeperError } from "../../errors.ts";
import { isLedgerNote } from "../../journal/ledger.ts";
import { readSegment } from "../../journal/reader.ts";
import { isWithin, type ResponseRecord, type TimeRange } from "../../journal/record.ts";
import { PlainReader } from "../../read/plainRows.ts";
import { isExportCall } from "../../read/exportCall.ts";
import { type DamagedBytes, unreadableBytes } from "./readBatches.ts";
import { Gathering, type Stretch } from "./stretch.ts";

/** Bytes of a segment, uncompressed, that one transaction takes in: some 28,000 quotes of the service's XML. */
const STRETCH_BYTES = 32 * 1024 * 1024;

/** A segment to read: from 0 or a stretch's `to`, `until` the same or its end. */
type SegmentPart = { name: string; from: number; until?: number | undefined };

/** What to read. Plain data: it may go to another thread. */
export type StretchRequest = {
  journalDir: string;
  parts: readonly SegmentPart[];
  /** Records outside are passed over. */
  range: TimeRange;
  /** Whether a segment that is gone holds nothing: of those listed, a writer may take one back. */
  mayBeGone: boolean;
  /** What is not gathered but left to `loadBatch`: rows that an export brings back, all imports, or everything. */
  alone: "exports" | "imports";
};

/** A stretch, or bytes that hold no whole record. */
type ReadStretch = { stretch: Stretch } | { damage: DamagedBytes };

/**
 * The stretches of some segments, in their order; none is empty. Between records whatever else waits has its turn.
 *
 * @param reader one that remembers what it has read before
 * @throws QuotekeeperError JOURNAL_UNREADABLE
 */
export async function* readStretches(
  request: StretchRequest,
  reader = new PlainReader(),
): AsyncGenerator<ReadStretch, void, undefined> {
  for (const part of request.parts) yield* readPart(part, request, reader);
}

async function* readPart(
  { name: segment, from, until = Infinity }: SegmentPart,
  { journalDir, range, mayBeGone, alone: wantedAlone }: StretchRequest,
  reader: PlainReader,
): AsyncGenerator<ReadStretch, void, undefined> {
  const isWanted = isWithin(range);
  const isAlone = ({ request, source }: ResponseRecord): boolean =>
    isExportCall(request) || (wantedAlone === "imports" && source.kind === "import");
  let gathering = new Gathering({ segment, from }, reader);
  let alone = false;
  const finish = (): ReadStretch => {
    const stretch = gathering.finish(alone);
    gathering = new Gathering({ segment, from: stretch.to }, reader);
    return { stretch };
  };
  for await (const item of readSegment(journalDir, segment, { from, mayBeGone })) {
    if (item.kind === "damage") {
      const { offset, length, reason } = item.damage;
      yield { damage: { segment, offset, length, reason } };
      continue;
    }
    if (item.kind === "unreadable") {
      yield { damage: unreadableBytes({ segment, from: gathering.to }, item.error) };
      break;
    }
    if (item.kind === "record" && item.offset >= until) break;
    if (item.kind === "end") {
      gathering.to = item.end;
      break;
    }
    const { record } = item;
    if (!isWanted(record)) {
      // It is passed over, and the stretch goes on behind it.
    } else if (record.kind === "response") {
      if (isAlone(record) !== alone) {
        if (gathering.length > 0) yield finish();
        alone = !alone;
      }
      if (!alone) gathering.add(record, { segment, offset: item.offset });
      await setImmediate();
    } else if (isLedgerNote(record.note)) gathering.addNote({ at: record.at, note: record.note });
    gathering.to = item.end;
    if (gathering.length >= STRETCH_BYTES) yield finish();
  }
  if (gathering.length > 0) yield finish();
}

/** Allows the thread to send one more stretch. */
const MORE = "more";

/** How many stretches may be under way: one is stored, one waits, one is made. */
const AHEAD = 2;

type Said = ReadStretch | { ended: true } | { failed: { code: ErrorCode; detail: string } | Error };

/**
 * The same, read in a thread of its own, so that this one is free for the database. Where the program runs from its
 * sources there is no file for a thread, and this one reads.
 *
 * @throws as `readStretches`
 */
export async function* stretchesOfThread(
  request: StretchRequest,
): AsyncGenerator<ReadStretch, void, undefined> {
  if (import.meta.url.endsWith(".ts")) return yield* readStretches(request);
  // The programs are built into one folder, and threads beside it (scripts/compile.js).
  const file = new URL("../archive/load/stretchThread.js", import.meta.url);
  const thread = new Worker(file, { workerData: request, resourceLimits: { maxYoungGenerationSizeMb: 64 } });
  const inbox: Said[] = [];
  let wake: () => void = () => undefined;
  const say = (said: Said): void => {
    inbox.push(said);
    wake();
  };
  thread.on("message", say).on("error", (error: Error) => say({ failed: error }));
  thread.on("exit", () => say({ ended: true }));
  try {
    for (;;) {
      while (inbox.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const said = inbox.shift() as Said;
      if ("ended" in said) return;
      if ("failed" in said) throw failureOf(said.failed);
      yield said;
      if ("stretch" in said) thread.postMessage(MORE);
    }
  } finally {
    await thread.terminate();
  }
}

function failureOf(failed: { code: ErrorCode; detail: string } | Error): Error {
  return failed instanceof Error ? failed : new QuotekeeperError(failed.code, failed.detail);
}

type Port = {
  postMessage: (said: Said, transfer?: ArrayBuffer[]) => void;
  on: (event: "message", heard: () => void) => unknown;
  close: () => void;
};

/** The work of the thread: sends stretches, AHEAD of them before the first is asked for. */
export async function sendStretches(request: StretchRequest, port: Port): Promise<void> {
  let allowed = AHEAD;
  let wake: () => void = () => undefined;
  port.on("message", () => {
    allowed += 1;
    wake();
  });
  try {
    for await (const read of readStretches(request)) {
      while (allowed === 0) await new Promise<void>((resolve) => (wake = resolve));
      if ("damage" in read) {
        port.postMessage(read);
        continue;
      }
      const { quotes, extended } = read.stretch;
      const buffers = [quotes, extended].flatMap(({ bytes, starts }) => [bytes.buffer, starts.buffer]);
      port.postMessage(read, buffers);
      allowed -= 1;
    }
    port.postMessage({ ended: true });
  } catch (error) {
    const { code, detail } = error as QuotekeeperError;
    port.postMessage({ failed: error instanceof QuotekeeperError ? { code, detail } : (error as Error) });
  }
  port.close();
}
