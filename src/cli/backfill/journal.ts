/** `quotekeeper backfill --journal`: raw answers read again, this machine's or another's. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type pg from "pg";
import { fillSlots } from "../../archive/refill/fillSlots.ts";
import { readReadPositions, positionOfRun } from "../../archive/refill/runPosition.ts";
import { rebuild } from "../../backfill/journal/rebuild.ts";
import { replay, type ReplayOptions } from "../../backfill/journal/replay.ts";
import { chooseSegments, isWithin, journalIn } from "../../backfill/journal/chosenSegments.ts";
import { NOTHING_DONE } from "../../archive/refill/report.ts";
import { beginRun, finishRun, type Run } from "../../archive/refill/runs.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { type Instant, instantFromDate } from "../../clock.ts";
import type { SegmentInfo } from "../../journal/segments.ts";
import { type Edges, endingAtInterrupt } from "../../run/edges.ts";
import { journalDir } from "../../run/stations.ts";
import { delayedJobs, type Tried, withMigrated, withTrial } from "./archives.ts";
import { createDisplay, type Display } from "./display.ts";
import { type JournalRequest, tryJournal } from "./journalTrial.ts";
import { type Finished, printReport } from "./report.ts";

/** A journal that was chosen. */
type Chosen = {
  dir: string;
  /** Whether it is the one that this archive is loaded from. */
  own: boolean;
  segments: SegmentInfo[];
};

/** @returns 0; 1 when some of the journal could not be read, or something could not become a row */
export async function backfillJournal(
  config: Config,
  edges: Edges,
  request: JournalRequest,
): Promise<number> {
  const chosen = await choose(config, edges, request);
  const display = createDisplay(config, edges, "reading the journal");
  try {
    const finished = await endingAtInterrupt(edges, (signal) =>
      request.dryRun
        ? withTrial(config, edges, (tried) =>
            dryRunReplay(config, edges, tried, chosen, request, display, signal),
          )
        : withMigrated(config, edges, (pool) =>
            runReplay(config, edges, pool, chosen, request, display, signal),
          ),
    );
    display.end();
    printReport(edges, finished, request.json);
    const { damagedBytes, deadLetters } = finished.report;
    return damagedBytes > 0 || deadLetters.length > 0 ? 1 : 0;
  } catch (error) {
    display.end();
    throw error;
  }
}

async function choose(
  config: Config,
  edges: Edges,
  { directory, from, to }: JournalRequest,
): Promise<Chosen> {
  const own = journalDir(config);
  const dir = directory === null ? own : await journalIn(resolve(edges.directory, directory));
  const segments = await chooseSegments(dir, { from, to });
  return { dir, own: (await realpath(dir)) === (await realpath(own).catch(() => own)), segments };
}

async function runReplay(
  config: Config,
  { clock }: Edges,
  pool: pg.Pool,
  { dir, own, segments }: Chosen,
  request: JournalRequest,
  display: Display,
  signal: AbortSignal,
): Promise<Finished> {
  const { from, to } = request;
  const now = (): Instant => instantFromDate(clock.now());
  const asked = { kind: "journal" as const, directory: own ? null : dir, from, to, rebuild: request.rebuild };
  const run = await beginRun(pool, asked, now());
  const loaderToo = own && from === null && to === null;
  const options = {
    ...replayOptions({ dir, segments, request, display, signal, tally: run }),
    pool,
    positions: await readReadPositions(pool, run.id),
    runPosition: positionOfRun(run, { loaderToo }),
  };
  if (request.rebuild) await rebuild({ ...options, range: { from, to }, trial: null });
  else {
    await replay(options);
    await fill(config, pool, run, request, now());
  }
  await finishRun(pool, run, now());
  return { kind: "journal", dryRun: false, resumed: run.resumed, report: run.report };
}

/** An archive that was empty is restored as it was; the misses of its ledger were misses then. */
async function fill(
  config: Config,
  pool: pg.Pool,
  run: Run,
  { from, to }: JournalRequest,
  now: Instant,
): Promise<void> {
  if (run.beganEmpty || run.report.stored === 0) return;
  const filled = await fillSlots(pool, {
    ...{ from, to, by: "journal", now },
    delayedJobs: await delayedJobs(config),
  });
  run.report = { ...run.report, filled: run.report.filled + filled };
}

async function dryRunReplay(
  config: Config,
  { clock }: Edges,
  { tempCopies }: Tried,
  { dir, segments }: Chosen,
  request: JournalRequest,
  display: Display,
  signal: AbortSignal,
): Promise<Finished> {
  const tally = { report: NOTHING_DONE };
  const options = replayOptions({ dir, segments, request, display, signal, tally });
  const now = instantFromDate(clock.now());
  let damagedBytes = 0;
  const onDamage: ReplayOptions["onDamage"] = (segment, offset, length, reason) => {
    damagedBytes += length;
    options.onDamage(segment, offset, length, reason);
  };
  const filling = { now, delayedJobs: await delayedJobs(config) };
  const tried = await tryJournal(tempCopies, request, { ...options, onDamage }, filling);
  return {
    ...{ kind: "journal", dryRun: true, resumed: false },
    ...tried,
    report: { ...tried.report, damagedBytes },
  };
}

type Given = Pick<ReplayOptions, "tally" | "signal" | "segments"> & {
  dir: string;
  request: JournalRequest;
  display: Display;
};

function replayOptions({
  dir,
  segments,
  request,
  display,
  signal,
  tally,
}: Given): Omit<ReplayOptions, "pool" | "positions" | "runPosition"> {
  return {
    ...{ journalDir: dir, segments, signal, tally, onProgress: display.progress },
    wanted: wantedBy(request),
    onDamage: (segment, offset, length, reason) => {
      tally.report = { ...tally.report, damagedBytes: tally.report.damagedBytes + length };
      display.log.warn({ segment, offset, length, reason }, "damaged bytes of the journal were passed over");
    },
  };
}

/** A rebuild reads notes from behind its range as well: they may tell more of its slots. */
function wantedBy({ from, to, rebuild: rebuilding }: JournalRequest): ReplayOptions["wanted"] {
  const within = isWithin({ from, to });
  return rebuilding
    ? (record) => within(record) || (record.kind === "note" && record.at >= (to ?? ""))
    : within;
}
