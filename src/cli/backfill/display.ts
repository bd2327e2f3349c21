/** Shows the progress of a backfill: a bar on a terminal, JSON lines elsewhere; on stderr, because stdout has the result. */
import type { Logger } from "pino";
import type { Config } from "../../config/loadEnvironment.ts";
import { damageSaid } from "../../archive/load/readBatches.ts";
import type { ReplayOptions } from "../../backfill/journal/replay.ts";
import type { BackfillProgress, OnProgress } from "../../backfill/progress.ts";
import { type Edges, endingAtInterrupt } from "../../ground/edges.ts";
import { createLogger } from "../terminal/logger.ts";
import { roughly } from "../../market/durations.ts";
import { StatusLine } from "../terminal/statusLine.ts";
import { counted, thousands } from "../../ground/figures.ts";

/** How often the bar moves on a terminal, and how often a line is written elsewhere, in ms. */
const BAR_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;

const BAR_CHARACTERS = 20;

export type Display = {
  progress: OnProgress;
  log: Logger;
  onDamage: ReplayOptions["onDamage"];
  end: () => void;
};

export type BackfillContext = { config: Config; edges: Edges; display: Display; signal: AbortSignal };

/** Runs `work` with a display, and ends the display. @throws Interrupted after Ctrl-C */
export async function backfilling<T>(
  { config, edges, title }: Pick<BackfillContext, "config" | "edges"> & { title: string },
  work: (backfill: BackfillContext) => Promise<T>,
): Promise<T> {
  const display = await createDisplay(config, edges, title);
  try {
    return await endingAtInterrupt(edges, (signal) => work({ config, edges, display, signal }));
  } finally {
    display.end();
  }
}

/** @param title for the log lines: `reading the journal` */
export async function createDisplay(
  config: Config,
  { clock, stderr, env }: Edges,
  title: string,
): Promise<Display> {
  const line = new StatusLine(stderr, clock);
  const log = await createLogger(config.logLevel, line.above(stderr), env);
  const startedAtMs = clock.monotonicMs();
  let shownAtMs = -Infinity;
  let doneBefore: number | null = null;
  let quotesBefore = 0;
  return {
    log,
    progress: (progress) => {
      // The rate leaves out the work of an earlier run.
      if (doneBefore === null) [doneBefore, quotesBefore] = [progress.done, progress.quotes];
      const nowMs = clock.monotonicMs();
      const isLast = progress.done >= progress.total;
      if (nowMs - shownAtMs < (stderr.isTTY ? BAR_EVERY_MS : LINE_EVERY_MS) && !isLast) return;
      shownAtMs = nowMs;
      const pace = paceOf(progress, { doneBefore, quotesBefore, elapsedMs: nowMs - startedAtMs });
      if (stderr.isTTY) line.show(barText(progress, pace));
      else log.info({ ...progress, ...pace }, title);
    },
    onDamage: (damage) => log.warn(...damageSaid(damage)),
    end: () => line.end(),
  };
}

type Pace = { quotesPerSecond: number; leftMs: number | null };

function paceOf(
  { done, total, quotes }: BackfillProgress,
  { doneBefore, quotesBefore, elapsedMs }: { doneBefore: number; quotesBefore: number; elapsedMs: number },
): Pace {
  const here = done - doneBefore;
  const atRate = here > 0 ? Math.round((elapsedMs * Math.max(0, total - done)) / here) : null;
  return {
    quotesPerSecond: elapsedMs > 0 ? Math.round(((quotes - quotesBefore) * 1_000) / elapsedMs) : 0,
    leftMs: atRate,
  };
}

/** `[#######.............]  35 % | 12,300 quotes | 4,100/s | 2 min left`. */
function barText(
  { done, total, quotes, doing }: BackfillProgress,
  { quotesPerSecond, leftMs }: Pace,
): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(share * BAR_CHARACTERS);
  return [
    `[${"#".repeat(full)}${".".repeat(BAR_CHARACTERS - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`,
    counted(quotes, "quote"),
    `${thousands(quotesPerSecond)}/s`,
    ...(leftMs === null || share === 1 ? [] : [`${roughly(leftMs)} left`]),
    doing,
  ].join(" | ");
}
