/**
 * Imports pieces: each batch is journaled and synced, then loaded from the journal into the archive. So the archive can be
 * made again from the journal alone, imports included.
 *
 * An interrupted run leaves each piece in one of three states: not journaled (this run imports it), journaled and not loaded
 * (`catchUp` loads it first), loaded (the archive knows its request id).
 */
import { addCounts } from "../../archive/load/letterCounts.ts";
import type pg from "pg";
import { createMemory, loadBatch, type LoadMemory } from "../../archive/load/loadBatch.ts";
import type { Batch, LoadReport } from "../../archive/load/batch.ts";
import { type DamagedBytes, readBatches } from "../../archive/load/readBatches.ts";
import { makeManyDueBars } from "../../archive/schema/makeBars.ts";
import { openReaders, type ReadAnswer } from "../../archive/load/readers.ts";
import type { AnswerRows } from "../../read/rowTypes.ts";
import type { Clock, Instant } from "../../ground/clock.ts";
import type { Journal } from "../../journal/writer.ts";
import { type Run } from "../../archive/refill/runs.ts";
import {
  NO_POSITION,
  overtaken,
  positionOfRun,
  readReadPositions,
} from "../../archive/refill/runPosition.ts";
import type { OnProgress } from "../progress.ts";
import { type BackfillReport, NOTHING_DONE, withLoaded } from "../../archive/refill/backfillReport.ts";
import { type Piece, type PieceBatch, recordOf } from "./piece.ts";
import { JOURNAL_POSITION, ofBatches, readPositions } from "../../archive/load/loadPosition.ts";
import { loadSegment } from "../../archive/load/loader.ts";
import { listSegments } from "../../journal/segments.ts";

type ImportOptions = {
  pool: pg.Pool;
  journal: Journal;
  journalDir: string;
  clock: Clock;
  run: Run;
  name: string;
  total: number;
  onProgress: OnProgress;
  onDamage: (damage: DamagedBytes) => void;
  signal: AbortSignal;
};

/**
 * @returns the report of the whole run, with what the archive had before; `run.report` has what the run has added
 * @throws the signal's reason, after the batch under way was committed; the journal's and the database's errors
 */
export async function importPieces(
  options: ImportOptions,
  batches: AsyncIterable<PieceBatch>,
  onSeen: (seen: readonly SeenSpan[]) => void,
): Promise<BackfillReport> {
  const { pool, run, total, onProgress, signal } = options;
  // What an earlier process of this run has added is in the run's report already: once is enough.
  const isCounted = addedBefore(await readReadPositions(pool, run.id));
  const ends = new Map<string, number>();
  const readers = openReaders();
  const { read } = readers;
  const loading: PieceContext = {
    ...options,
    read,
    onSeen,
    memory: createMemory(),
    underWay: Promise.resolve(),
  };
  let repeated = NOTHING_DONE;
  let reportProgress: () => void = () => undefined;
  try {
    for await (const { pieces, doing, done } of batches) {
      signal.throwIfAborted();
      const fresh = pieces.filter(({ knownIn }) => knownIn === null);
      await journalAndLoad(loading, fresh, ends);
      const known = pieces.filter((piece) => piece.knownIn !== null && !isCounted(piece));
      if (known.length > 0) await loading.underWay;
      repeated = await loadKnown(loading, known, repeated);
      // The batch before is loaded by now.
      reportProgress();
      reportProgress = () =>
        onProgress({ doing, done, total, unit: "bytes", quotes: run.report.read + repeated.read });
    }
    await loading.underWay;
    await makeManyDueBars(options.pool);
    reportProgress();
    signal.throwIfAborted();
    return addCounts(run.report, repeated);
  } finally {
    await loading.underWay.catch(() => undefined);
    await readers.close();
  }
}

export type SeenSpan = { first: Instant; last: Instant };

/** Those of answers that were read into rows. */
function seenIn(answers: readonly AnswerRows[]): SeenSpan[] {
  return answers.flatMap(({ units }) =>
    units.map(({ observedAt }) => ({ first: observedAt, last: observedAt })),
  );
}

/** Whether earlier processes of a run have added a piece. Each is said once. @param segments that they have read */
function addedBefore(segments: ReadonlyMap<string, number>): (piece: Piece) => boolean {
  const said = new Set<string>();
  return ({ knownIn, requestId }) => {
    if (knownIn === null || !segments.has(knownIn) || said.has(requestId)) return false;
    said.add(requestId);
    return true;
  };
}

type PieceContext = ImportOptions & {
  read: ReadAnswer;
  memory: LoadMemory;
  onSeen: (seen: readonly SeenSpan[]) => void;
  /** The load of a batch, while the next one is cut, journaled and read. */
  underWay: Promise<void>;
};

/** @param ends how far each segment was loaded */
async function journalAndLoad(
  loading: PieceContext,
  pieces: readonly Piece[],
  ends: Map<string, number>,
): Promise<void> {
  const { journal, journalDir, name, onDamage, read } = loading;
  if (pieces.length === 0) return;
  const positions = await Promise.all(pieces.map((piece) => journal.append(recordOf(piece, name))));
  for (const segment of new Set(positions.map((position) => position.segment))) {
    const from = ends.get(segment) ?? 0;
    for await (const batch of readBatches(segment, { journalDir, from, onDamage, read })) {
      if (batch.to === batch.from) continue;
      ends.set(segment, batch.to);
      await loading.underWay;
      loading.underWay = loadJournaled(loading, batch);
      // Its failure is met when it is awaited.
      loading.underWay.catch(() => undefined);
    }
  }
}

async function loadJournaled({ pool, run, memory, onSeen }: PieceContext, batch: Batch): Promise<void> {
  const loaded = await loadBatch(pool, batch, {
    memory,
    position: ofBatches(positionOfRun(run, { loaderToo: true })),
  });
  if (loaded === null) throw overtaken(batch);
  run.report = withLoaded(run.report, withoutOvertaking(loaded));
  onSeen(seenIn(batch.answers));
}

/**
 * A collector on the same data directory reads the whole journal once a minute, and may have loaded a piece before this
 * import does. The rows that the collector stored count for this import.
 */
function withoutOvertaking(loaded: LoadReport): LoadReport {
  if (loaded.responses > 0) return loaded;
  const { answers, quotes, repeated } = loaded;
  return { ...loaded, responses: answers, quotes: quotes + repeated, repeated: 0 };
}

/** Loads pieces that the archive knows: counts their rows exactly, and restores lost rows. */
async function loadKnown(
  { pool, name, memory, onSeen, read }: PieceContext,
  pieces: readonly Piece[],
  report: BackfillReport,
): Promise<BackfillReport> {
  if (pieces.length === 0) return report;
  const batch = await batchOf(pieces, name, read);
  const loaded = await loadBatch(pool, batch, { memory, position: ofBatches(NO_POSITION) });
  onSeen(seenIn(batch.answers));
  return loaded === null ? report : withLoaded(report, loaded);
}

/** Pieces as a batch that no journal holds. */
export async function batchOf(pieces: readonly Piece[], name: string, read: ReadAnswer): Promise<Batch> {
  const answers = pieces.map((piece) =>
    read(recordOf(piece, name), { segment: piece.knownIn ?? "", offset: 0 }),
  );
  return { segment: "", from: 0, to: 0, answers: await Promise.all(answers), notes: [] };
}

/**
 * Loads what the journal holds and the archive has not. Pieces of this import count for its run: an earlier process of
 * the run has journaled them and came no further.
 */
export async function catchUp(options: ImportOptions): Promise<void> {
  const { pool, journalDir, clock, run, name, onDamage } = options;
  const loaded = await readPositions(pool);
  const read = await readReadPositions(pool, run.id);
  const memory = createMemory();
  for (const { name: segment, bytes } of await listSegments(journalDir)) {
    const from = loaded.get(segment) ?? 0;
    if (bytes !== null && bytes <= from) continue;
    let readTo = read.get(segment) ?? 0;
    for await (const batch of readBatches(segment, { journalDir, from, onDamage })) {
      if (batch.to === batch.from) continue;
      const ours = readTo === batch.from && isOf(batch, name);
      const position = ours ? ofBatches(positionOfRun(run, { loaderToo: true })) : JOURNAL_POSITION;
      const report = await loadBatch(pool, batch, { memory, position });
      if (report === null) {
        // Another program loads this segment at the same time: what is left of it goes the ordinary way.
        const positions = await readPositions(pool, [segment]);
        await loadSegment({ pool, journalDir, clock, onDamage }, segment, positions.get(segment) ?? 0);
        break;
      }
      if (!ours) continue;
      readTo = batch.to;
      run.report = withLoaded(run.report, report);
    }
  }
}

function isOf({ answers }: Batch, name: string): boolean {
  return (
    answers.length > 0 &&
    answers.every(({ record: { source } }) => source.kind === "import" && source.name === name)
  );
}
