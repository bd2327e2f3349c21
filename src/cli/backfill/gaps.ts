/** `quotekeeper backfill --gaps`: lists the holes of the ledger, and fills those that the journal can fill. */
import { z } from "zod";
import { count as countJson } from "../../run/jsonWords.ts";
import { printJson } from "../terminal/printJson.ts";
import type pg from "pg";
import { readPositions } from "../../archive/load/loadPosition.ts";
import { letterCounts } from "../../archive/load/letterCounts.ts";
import { loadAll } from "../../archive/load/loader.ts";
import type { TempCopies } from "../../archive/load/tempCopies.ts";
import { tryBatches, tryCatchUp } from "../../backfill/dryRun/tryBatches.ts";
import { deriveCloses } from "../../archive/refill/deriveCloses.ts";
import { fillSlots } from "../../archive/refill/fillSlots.ts";
import { type Hole, hole, hoursWithMisses, listHoles } from "../../archive/refill/listHoles.ts";
import { allBatches, replay, type ReplayOptions } from "../../backfill/journal/replay.ts";
import { segmentsOfHours } from "../../backfill/journal/chosenSegments.ts";
import { EVER, type TimeRange } from "../../journal/record.ts";
import { type BackfillReport, NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { dateOf, instantFromDate } from "../../clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import type { Edges } from "../../run/edges.ts";
import { journalDir } from "../../run/stations.ts";
import { right, table } from "../terminal/table.ts";
import { polledJobs, withMigrated, withTrial } from "./archives.ts";
import { type Backfilling, backfilling } from "./display.ts";
import { type CommonRequest, deadLetterLines } from "./report.ts";
import { counted, thousands } from "../../figures.ts";

export const gapsJson = z
  .strictObject({
    dryRun: z.boolean().describe("Nothing was changed: the numbers are what would be."),
    holes: z.array(hole).describe("The holes of the ledger as they were, oldest first."),
    stored: countJson.describe("Quotes of the journal that the archive had not."),
    deadLetters: letterCounts,
    filled: countJson.describe("Misses that are filled now; the table fills says by what."),
    derived: countJson.describe("Closes that are new in derived_closes."),
    left: z.array(hole).describe("The holes that are left."),
  })
  .describe("With `--gaps`:");

type GapsRequest = CommonRequest & TimeRange;

type Outcome = Omit<z.infer<typeof gapsJson>, "dryRun">;

/** @returns 0 when no hole is left and nothing was dead-lettered, 1 otherwise */
export async function backfillGaps(config: Config, edges: Edges, request: GapsRequest): Promise<number> {
  const title = "reading the journal of the hours with holes";
  const outcome = await backfilling({ config, edges, title }, (backfill) =>
    request.dryRun
      ? withTrial(config, edges, ({ tempCopies }) =>
          fillGaps(backfill, { pool: tempCopies.pool, tempCopies }, request),
        )
      : withMigrated(config, edges, (pool) => fillGaps(backfill, { pool, tempCopies: null }, request)),
  );
  if (request.json) printJson(edges.stdout, gapsJson, { dryRun: request.dryRun, ...outcome });
  else edges.stdout.write(text(outcome, request, edges));
  return missesOf(outcome.left) > 0 || outcome.deadLetters.length > 0 ? 1 : 0;
}

type Target = { pool: pg.Pool; tempCopies: TempCopies | null };

/**
 * Loads what a collector has journaled and not loaded, so that the outcome does not depend on its progress. Then reads
 * the journal of the hours with holes again, fills slots, and derives closes.
 */
async function fillGaps(
  { config, edges: { clock }, display, signal }: Backfilling,
  target: Target,
  { from, to }: GapsRequest,
): Promise<Outcome> {
  const { pool } = target;
  const dir = journalDir(config);
  if (target.tempCopies === null) await loadAll({ pool, journalDir: dir, clock });
  else await tryCatchUp(target.tempCopies, { journalDir: dir, clock, signal });
  const holes = await listHoles(pool, { from, to });
  const { stored, deadLetters } = await readAgain(target, {
    journalDir: dir,
    segments: await segmentsOfHours(dir, await hoursWithMisses(pool, { from, to })),
    positions: new Map(),
    ends: await readPositions(pool),
    wanted: () => true,
    range: EVER,
    signal,
    onProgress: display.progress,
    onDamage: display.onDamage,
  });
  // A slot may be filled by any stored quote, not only by quotes of the journal.
  await target.tempCopies?.takeQuotesAroundMisses();
  const now = instantFromDate(clock.now());
  const filled = await fillSlots(pool, { from, to, by: "gaps", now, polled: await polledJobs(config) });
  const derived = await deriveCloses(pool, { ...datesOf({ from, to }), now });
  return { holes, stored, deadLetters, filled, derived, left: await listHoles(pool, { from, to }) };
}

async function readAgain(
  { pool, tempCopies }: Target,
  options: Omit<ReplayOptions, "pool" | "runPosition" | "tally">,
): Promise<BackfillReport> {
  if (tempCopies !== null)
    return tryBatches(tempCopies, allBatches(options), () => options.signal.throwIfAborted());
  const tally = { report: NOTHING_DONE };
  await replay({ ...options, pool, runPosition: null, tally });
  return tally.report;
}

/** Most holes of the table; `--json` has all. */
const MOST_LINES = 40;

function text(
  { holes, stored, deadLetters, filled, derived, left }: Outcome,
  { dryRun }: GapsRequest,
  edges: Edges,
): string {
  const columns = [
    "Date",
    { heading: "Job", wrap: "-" },
    { heading: "Reason", wrap: "_" },
    ...right("Slots", "Instruments", "Missed", "Left"),
  ];
  const leftOf = new Map(left.map((hole) => [keyOf(hole), hole.misses]));
  const cells = holes
    .slice(0, MOST_LINES)
    .map((hole) => [
      hole.date,
      hole.source === "account" ? hole.job : `${hole.job} (${hole.source})`,
      hole.reason,
      thousands(hole.slots),
      thousands(hole.instruments),
      thousands(hole.misses),
      thousands(leftOf.get(keyOf(hole)) ?? 0),
    ]);
  const further = holes.length - cells.length;
  const lines = [
    ...(dryRun ? ["Nothing was changed. This is what would be:"] : []),
    ...(holes.length === 0 ? ["The ledger has no holes."] : [table(columns, cells, edges).trimEnd()]),
    ...(further > 0 ? [`and ${thousands(further)} further; --from and --to narrow it, --json has all`] : []),
    `${thousands(missesOf(holes))} missed = ${thousands(filled)} filled + ${thousands(missesOf(holes) - filled)} left; ${counted(stored, "quote")} came from the journal`,
    ...deadLetterLines({ deadLetters }),
    `${counted(derived, "close")} derived from the next session, in derived_closes`,
  ];
  return `${lines.join("\n")}\n`;
}

function keyOf({ job, date, source, reason }: Hole): string {
  return [job, date, source, reason].join("\n");
}

function datesOf({ from, to }: TimeRange): { from: string | null; to: string | null } {
  return {
    from: from === null ? null : exchangeDate(dateOf(from)),
    to: to === null ? null : exchangeDate(new Date(dateOf(to).getTime() - 1)),
  };
}

function missesOf(holes: readonly Hole[]): number {
  return holes.reduce((sum, { misses }) => sum + misses, 0);
}
