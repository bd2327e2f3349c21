/** What backfills have in common: the archive brought up to date, the run that can be resumed, and the slots to fill. */
import { resolve } from "node:path";
import type pg from "pg";
import { batchOf, catchUp, importPieces, type SeenSpan } from "../../backfill/files/importPieces.ts";
import type { PieceBatch } from "../../backfill/files/piece.ts";
import { type BackfillRequest, beginRun, finishRun } from "../../archive/refill/runs.ts";
import { openReaders } from "../../archive/load/readers.ts";
import { withSourceLock } from "../../archive/refill/oneAtATime.ts";
import { migrate } from "../../archive/schema/migrations.ts";
import { fillSlots, type PolledJobs } from "../../archive/refill/fillSlots.ts";
import { withArchive } from "../../archive/openArchive.ts";
import type { Edges } from "../../ground/edges.ts";
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { pastSlotEnds } from "../../schedule/pastSlots.ts";
import { readCalendarDays, readJobs } from "../../schedule/readJobs.ts";
import type { BackfillReport } from "../../archive/refill/backfillReport.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { type Instant, instantFromDate, instantOf, microsOf } from "../../ground/clock.ts";
import { openJournal } from "../../journal/writer.ts";
import { journalDir } from "../../journal/dataDir.ts";
import { type BackfillContext, backfilling } from "./display.ts";
import { type CommonRequest, printDryRun, printReport, readInput } from "./report.ts";

type ImportRequest = {
  /** Identifies the import: a run with equal values resumes it. */
  asked: BackfillRequest & { kind: "xml" | "csv" | "parquet" };
  name: string;
  dryRun: boolean;
  total: number;
  /** @param pool the archive; null in a dry run, which takes each piece for a new one */
  read: (pool: pg.Pool | null, signal: AbortSignal) => AsyncIterable<PieceBatch>;
};

type ShownImport = Pick<BackfillContext, "config" | "edges"> & {
  title: string;
  printJson: CommonRequest["printJson"];
  remarksOf: (report: BackfillReport) => string[];
};

/**
 * Runs the import of a file, and prints what became of it.
 *
 * @param shown.title for the log lines
 * @returns 0; 1 when a row could not be stored
 */
export async function importFile(
  { remarksOf, printJson, ...shown }: ShownImport,
  request: ImportRequest,
): Promise<number> {
  const { resumed, report } = await backfilling(shown, (backfill) => runImport(backfill, request));
  const { asked, dryRun } = request;
  const remarks = remarksOf(report);
  if (dryRun) return printDryRun(shown.edges, { kind: asked.kind, report, remarks }, printJson);
  printReport(shown.edges, { kind: asked.kind, dryRun, resumed, report, remarks }, printJson);
  return report.deadLetters.length > 0 ? 1 : 0;
}

type ImportOutcome = { resumed: boolean; report: BackfillReport };

/** Runs the import, or a dry run of it. @throws Interrupted after Ctrl-C; what was journaled stays, and the next run resumes */
export async function runImport(backfill: BackfillContext, request: ImportRequest): Promise<ImportOutcome> {
  if (request.dryRun) return { resumed: false, report: await readImport(backfill, request) };
  return withMigrated(backfill.config, backfill.edges, (pool) =>
    withSourceLock(pool, request.name, () => doImport(backfill, pool, request)),
  );
}

async function doImport(
  { config, edges: { clock }, display, signal }: BackfillContext,
  pool: pg.Pool,
  { asked, name, total, read }: ImportRequest,
): Promise<ImportOutcome> {
  const dir = journalDir(config);
  const journal = await openJournal({
    dir,
    clock,
    readers: config.journalReaders,
    maxTotalBytes: config.journalMaxBytes,
    onProblem: ({ message }) => display.log.error(message),
  });
  try {
    const run = await beginRun(pool, asked, instantFromDate(clock.now()));
    const options = {
      pool,
      journal,
      journalDir: dir,
      clock,
      run,
      name,
      total,
      signal,
      onProgress: display.progress,
      onDamage: display.onDamage,
    };
    await catchUp(options);
    const span = new Span();
    const report = await importPieces(options, read(pool, signal), (seen) => span.add(seen));
    const now = instantFromDate(clock.now());
    const range = run.resumed ? { from: null, to: null } : span.slots();
    const filled =
      report.newAnswers > 0 || report.stored > 0
        ? await fillSlots(pool, { ...range, by: asked.kind, now, polled: await polledJobs(config) })
        : 0;
    const finished = { ...report, filled };
    await finishRun(pool, { ...run, report: finished }, now);
    return { resumed: run.resumed, report: finished };
  } finally {
    await journal.close();
  }
}

class Span {
  #first: Instant | null = null;
  #last: Instant | null = null;

  add(seen: readonly SeenSpan[]): void {
    for (const { first, last } of seen) {
      if (this.#first === null || first < this.#first) this.#first = first;
      if (this.#last === null || last > this.#last) this.#last = last;
    }
  }

  /** The slots that these quotes may fill: a slot lasts at most a day. */
  slots(): { from: Instant | null; to: Instant | null } {
    if (this.#first === null || this.#last === null) return { from: null, to: null };
    return { from: instantOf(microsOf(this.#first) - DAY_MICROS), to: instantOf(microsOf(this.#last) + 1n) };
  }
}

const DAY_MICROS = 86_400_000_000n;

async function readImport(
  { display, signal }: BackfillContext,
  { name, total, read }: ImportRequest,
): Promise<BackfillReport> {
  let at = { doing: "", done: 0 };
  const readers = openReaders();
  const batches = async function* () {
    for await (const { pieces, ...place } of read(null, signal)) {
      signal.throwIfAborted();
      at = place;
      yield await batchOf(pieces, name, readers.read);
    }
  };
  try {
    return await readInput(batches(), ({ read: quotes }) =>
      display.progress({ ...at, total, unit: "bytes", quotes }),
    );
  } finally {
    await readers.close();
  }
}

export async function withMigrated<T>(
  config: Config,
  { clock }: Pick<Edges, "clock">,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  return withArchive(config, { clock }, async ({ pool }) => {
    const calendar = await readCalendarDays(resolve(config.jobsDir));
    await migrate(pool, instantFromDate(clock.now()), { calendar });
    return work(pool);
  });
}

export async function polledJobs(config: Config): Promise<PolledJobs> {
  const { jobs, calendar } = await readJobs(config.jobsDir).catch(() => ({ jobs: [], calendar: [] }));
  return {
    // Where a feed says whether quotes are delayed, no job does.
    delayedJobs: jobs.filter(({ delayed }) => delayed || config.service.sourceOf).map(({ name }) => name),
    endOf: pastSlotEnds(jobs, createCalendar(calendar)),
  };
}
