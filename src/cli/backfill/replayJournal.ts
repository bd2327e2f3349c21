/** `quotekeeper backfill --journal`: reads raw answers again, of this machine's journal or of another one. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type pg from "pg";
import { fillSlots } from "../../archive/refill/fillSlots.ts";
import { type BackfillReport, NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import { beginRun, finishRun } from "../../archive/refill/runs.ts";
import { positionOfRun, readReadPositions } from "../../archive/refill/runPosition.ts";
import { requireNoYamlPieces } from "../../archive/refill/yamlPieces.ts";
import { rebuild } from "../../backfill/journal/rebuild.ts";
import { allBatches, bytesOf, replay, type ReplayOptions } from "../../backfill/journal/replay.ts";
import { chooseSegments, journalIn } from "../../backfill/journal/chosenSegments.ts";
import { isWithin, type TimeRange } from "../../journal/record.ts";
import { type Instant, instantFromDate } from "../../ground/clock.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import { journalDir } from "../../journal/dataDir.ts";
import type { Edges } from "../../ground/edges.ts";
import { polledJobs, withMigrated } from "./importing.ts";
import { type BackfillContext, backfilling } from "./display.ts";
import { type CommonRequest, type FinishedBackfill, printDryRun, printReport, readInput } from "./report.ts";

type JournalRequest = CommonRequest &
  TimeRange & {
    /** A journal or a data directory; null: this machine's journal. */
    directory: string | null;
    rebuild: boolean;
  };

type ReplayChoice = TimeRange & {
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
  if (request.dryRun) {
    const report = await backfilling({ config, edges, title }, (backfill) => readReplay(backfill, chosen));
    return printDryRun(edges, { kind: "journal", report, remarks: [] }, request.printJson);
  }
  const finished = await backfilling({ config, edges, title }, (backfill) =>
    withMigrated(config, edges, (pool) => runReplay(backfill, pool, chosen)),
  );
  printReport(edges, finished, request.printJson);
  const { damagedBytes, deadLetters } = finished.report;
  return damagedBytes > 0 || deadLetters.length > 0 ? 1 : 0;
}

async function choose(
  config: Config,
  edges: Edges,
  { directory, from, to, rebuild: rebuilding }: JournalRequest,
): Promise<ReplayChoice> {
  const own = journalDir(config);
  const dir = directory === null ? own : await journalIn(resolve(edges.directory, directory));
  const segments = await chooseSegments(dir, { from, to });
  const isOwn = (await realpath(dir)) === (await realpath(own).catch(() => own));
  return { dir, own: isOwn, segments, from, to, rebuild: rebuilding };
}

async function runReplay(
  backfill: BackfillContext,
  pool: pg.Pool,
  chosen: ReplayChoice,
): Promise<FinishedBackfill> {
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
  if (chosen.rebuild)
    await requireNoYamlPieces(
      pool,
      chosen.segments.map(({ name }) => name),
    );
  if (chosen.rebuild) await rebuild({ ...options, range: { from, to } });
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

async function readReplay(backfill: BackfillContext, chosen: ReplayChoice): Promise<BackfillReport> {
  const tally = { report: NOTHING_DONE };
  const options = { ...replayOptions(backfill, chosen, tally), positions: new Map<string, number>() };
  const report = await readJournal(options);
  return { ...report, damagedBytes: tally.report.damagedBytes };
}

/** Reads chosen segments for a dry run, and shows how far it has come. */
export function readJournal(
  options: Parameters<typeof allBatches>[0] & ReadingOptions,
): Promise<BackfillReport> {
  const { segments, signal, onProgress } = options;
  const total = bytesOf(segments);
  let at = { doing: "", done: 0 };
  const batches = async function* () {
    for await (const batch of allBatches(options)) {
      signal.throwIfAborted();
      at = { doing: batch.segment, done: at.done + batch.to - batch.from };
      yield batch;
    }
  };
  return readInput(batches(), ({ read: quotes }) => onProgress({ ...at, total, unit: "bytes", quotes }));
}

type ReadingOptions = Pick<ReplayOptions, "signal" | "onProgress">;

function replayOptions(
  { display, signal }: BackfillContext,
  { dir, segments, ...chosen }: ReplayChoice,
  tally: ReplayOptions["tally"],
): Omit<ReplayOptions, "pool" | "positions" | "runPosition"> {
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
