/** `quotekeeper backfill --journal`: reads raw answers again, of this machine's journal or of another one. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type pg from "pg";
import type { Batch } from "../../archive/load/batch.ts";
import { fillSlots } from "../../archive/refill/fillSlots.ts";
import { type BackfillReport, NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import { beginRun, finishRun } from "../../archive/refill/runs.ts";
import { NO_POSITION, positionOfRun, readReadPositions } from "../../archive/refill/runPosition.ts";
import type { TempCopies } from "../../archive/load/tempCopies.ts";
import { tryBatches } from "../../backfill/dryRun/tryBatches.ts";
import { rebuild } from "../../backfill/journal/rebuild.ts";
import { allBatches, bytesOf, replay, type ReplayOptions } from "../../backfill/journal/replay.ts";
import { chooseSegments, journalIn } from "../../backfill/journal/chosenSegments.ts";
import { isWithin, type TimeRange } from "../../journal/record.ts";
import { type Instant, instantFromDate } from "../../clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import { journalDir } from "../../run/stations.ts";
import type { Edges } from "../../run/edges.ts";
import { polledJobs, withMigrated, withTrial } from "./archives.ts";
import { type Backfilling, backfilling } from "./display.ts";
import { type CommonRequest, type Finished, printReport } from "./report.ts";
import { counted, thousands } from "../../figures.ts";

type JournalRequest = CommonRequest &
  TimeRange & {
    /** A journal or a data directory; null: this machine's journal. */
    directory: string | null;
    rebuild: boolean;
  };

type Chosen = TimeRange & {
  rebuild: boolean;
  dir: string;
  /** Whether this archive is loaded from that journal. */
  own: boolean;
  segments: SegmentInfo[];
};

/** @returns 0; 1 when bytes could not be read, or a quote could not become a row */
export async function backfillJournal(
  config: Config,
  edges: Edges,
  request: JournalRequest,
): Promise<number> {
  const chosen = await choose(config, edges, request);
  const title = "reading the journal";
  const finished = await backfilling({ config, edges, title }, (backfill) =>
    request.dryRun
      ? withTrial(config, edges, ({ tempCopies }) => dryRunReplay(backfill, tempCopies, chosen))
      : withMigrated(config, edges, (pool) => runReplay(backfill, pool, chosen)),
  );
  printReport(edges, finished, request.json);
  const { damagedBytes, deadLetters } = finished.report;
  return damagedBytes > 0 || deadLetters.length > 0 ? 1 : 0;
}

async function choose(
  config: Config,
  edges: Edges,
  { directory, from, to, rebuild: rebuilding }: JournalRequest,
): Promise<Chosen> {
  const own = journalDir(config);
  const dir = directory === null ? own : await journalIn(resolve(edges.directory, directory));
  const segments = await chooseSegments(dir, { from, to });
  const isOwn = (await realpath(dir)) === (await realpath(own).catch(() => own));
  return { dir, own: isOwn, segments, from, to, rebuild: rebuilding };
}

async function runReplay(backfill: Backfilling, pool: pg.Pool, chosen: Chosen): Promise<Finished> {
  const { config, edges } = backfill;
  const { dir, own, from, to } = chosen;
  const now = (): Instant => instantFromDate(edges.clock.now());
  const asked = {
    kind: "journal" as const,
    directory: own ? null : dir,
    from,
    to,
    rebuild: chosen.rebuild,
  };
  const run = await beginRun(pool, asked, now());
  const loaderToo = own && from === null && to === null;
  const options = {
    ...replayOptions(backfill, chosen, run),
    pool,
    positions: await readReadPositions(pool, run.id),
    runPosition: positionOfRun(run, { loaderToo }),
  };
  if (chosen.rebuild) await rebuild({ ...options, range: { from, to }, trial: null });
  else {
    await replay(options);
    // A restored archive keeps the misses of its ledger.
    if (!run.beganEmpty && run.report.stored > 0) {
      const filling = { from, to, now: now(), polled: await polledJobs(config) };
      const filled = await fillSlots(pool, { ...filling, by: "journal" });
      run.report = { ...run.report, filled: run.report.filled + filled };
    }
  }
  await finishRun(pool, run, now());
  return { kind: "journal", dryRun: false, resumed: run.resumed, report: run.report };
}

async function dryRunReplay(
  backfill: Backfilling,
  tempCopies: TempCopies,
  chosen: Chosen,
): Promise<Finished> {
  let damagedBytes = 0;
  const options = replayOptions(backfill, chosen, { report: NOTHING_DONE });
  const counting: TrialOptions = {
    ...options,
    onDamage: (damage) => {
      damagedBytes += damage.length;
      options.onDamage(damage);
    },
  };
  const tried = chosen.rebuild
    ? await tryRebuild(tempCopies, chosen, counting)
    : { report: await tryReplay(backfill, tempCopies, counting) };
  return {
    kind: "journal",
    dryRun: true,
    resumed: false,
    ...tried,
    report: { ...tried.report, damagedBytes },
  };
}

type TrialOptions = Omit<ReplayOptions, "pool" | "positions" | "runPosition">;

async function tryReplay(
  { config, edges: { clock } }: Backfilling,
  tempCopies: TempCopies,
  options: TrialOptions,
): Promise<BackfillReport> {
  const { from, to } = options.range;
  const filling = { now: instantFromDate(clock.now()), polled: await polledJobs(config) };
  // A restored archive keeps the misses of its ledger.
  const beganEmpty = !(await tempCopies.hasSlots());
  const batches = allBatches({ ...options, positions: new Map() });
  const report = await tryBatches(tempCopies, batches, showing(options));
  if (report.stored === 0 || beganEmpty) return report;
  // A slot may be filled by any stored quote, not only by quotes of the journal.
  await tempCopies.takeQuotesAroundMisses();
  const filled = await fillSlots(tempCopies.pool, { ...filling, from, to, by: "journal" });
  return { ...report, filled };
}

async function tryRebuild(
  tempCopies: TempCopies,
  { from, to }: TimeRange,
  options: TrialOptions,
): Promise<{ report: BackfillReport; remarks: string[] }> {
  await rebuild({
    ...options,
    pool: tempCopies.pool,
    positions: new Map(),
    runPosition: NO_POSITION,
    range: { from, to },
    trial: (client, batch) => tempCopies.takeTimes(client, batch),
  });
  const { report } = options.tally;
  const { changed, gone } = await tempCopies.compareRebuilt();
  const come = report.stored - (report.replaced - gone);
  return {
    report,
    remarks: [
      `Rebuilt   ${counted(changed, "quote")} would have other values, ${thousands(gone)} would go, ${thousands(come)} would come`,
    ],
  };
}

function showing({ segments, signal, onProgress }: TrialOptions) {
  const total = bytesOf(segments);
  let done = 0;
  return (batch: Batch, { read }: { read: number }): void => {
    signal.throwIfAborted();
    done += batch.to - batch.from;
    onProgress({ doing: batch.segment, done, total, unit: "bytes", quotes: read });
  };
}

function replayOptions(
  { display, signal }: Backfilling,
  { dir, segments, ...chosen }: Chosen,
  tally: ReplayOptions["tally"],
): TrialOptions {
  return {
    journalDir: dir,
    segments,
    signal,
    tally,
    onProgress: display.progress,
    wanted: wantedBy(chosen),
    range: { from: chosen.from, to: chosen.to },
    onDamage: (damage) => {
      tally.report = { ...tally.report, damagedBytes: tally.report.damagedBytes + damage.length };
      display.onDamage(damage);
    },
  };
}

/** A rebuild also reads notes from behind its range: they may be of its slots. */
function wantedBy(chosen: TimeRange & { rebuild: boolean }): ReplayOptions["wanted"] {
  const within = isWithin(chosen);
  return chosen.rebuild
    ? (record) => within(record) || (record.kind === "note" && record.at >= (chosen.to ?? ""))
    : within;
}
