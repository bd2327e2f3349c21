/** `quotekeeper backfill --gaps`: lists the holes of the ledger, and fills those that the journal can fill. */
import type pg from "pg";
import { readPositions } from "../../archive/load/loadPosition.ts";
import { loadAll } from "../../archive/load/loader.ts";
import { deriveCloses } from "../../archive/refill/deriveCloses.ts";
import { fillSlots } from "../../archive/refill/fillSlots.ts";
import { type Hole, hoursWithMisses, listHoles } from "../../archive/refill/listHoles.ts";
import { replay } from "../../backfill/journal/replay.ts";
import { segmentsOfHours } from "../../backfill/journal/chosenSegments.ts";
import { EVER, type TimeRange } from "../../journal/record.ts";
import { NOTHING_DONE } from "../../archive/refill/backfillReport.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { dateOf, instantFromDate } from "../../ground/clock.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import type { Edges } from "../../ground/edges.ts";
import { requireArchive, withSchema } from "../../archive/openArchive.ts";
import { journalDir } from "../../journal/dataDir.ts";
import { say } from "../terminal/harmless.ts";
import { right, table } from "../terminal/table.ts";
import { polledJobs, withMigrated } from "./importing.ts";
import { type BackfillContext, backfilling } from "./display.ts";
import { readJournal } from "./replayJournal.ts";
import { type CommonRequest, deadLetterLines, type FilledGaps, printDryRun } from "./report.ts";
import { counted, thousands } from "../../ground/figures.ts";

type GapsRequest = CommonRequest & TimeRange;

/** @returns 0 when no hole is left and nothing was dead-lettered, 1 otherwise */
export async function backfillGaps(config: Config, edges: Edges, request: GapsRequest): Promise<number> {
  const title = "reading the journal of the hours with holes";
  if (request.dryRun) return backfilling({ config, edges, title }, (backfill) => readGaps(backfill, request));
  const outcome = await backfilling({ config, edges, title }, (backfill) =>
    withMigrated(config, edges, (pool) => fillGaps(backfill, pool, request)),
  );
  if (request.printJson) request.printJson({ dryRun: false, ...outcome });
  else print(outcome, edges);
  return missesOf(outcome.left) > 0 || outcome.deadLetters.length > 0 ? 1 : 0;
}

/** Lists the holes, and reads the journal of their hours: the misses are all that it asks the database for. */
async function readGaps(backfill: BackfillContext, { from, to, printJson }: GapsRequest): Promise<number> {
  const { config, edges } = backfill;
  await requireArchive(config);
  const { holes, hours } = await withSchema(config, edges, async ({ pool }) => ({
    holes: await listHoles(pool, { from, to }),
    hours: await hoursWithMisses(pool, { from, to }),
  }));
  const report = await readJournal(await journalOf(backfill, hours));
  if (!printJson) edges.stdout.write(`${holeLines(holes, null, edges).join("\n")}\n`);
  return printDryRun(edges, { kind: "gaps", report, holes, remarks: [] }, printJson);
}

/** How the journal of some hours is read. */
async function journalOf({ config, display, signal }: BackfillContext, hours: readonly Date[]) {
  const dir = journalDir(config);
  return {
    journalDir: dir,
    segments: await segmentsOfHours(dir, hours),
    positions: new Map<string, number>(),
    wanted: () => true,
    range: EVER,
    signal,
    onProgress: display.progress,
    onDamage: display.onDamage,
  };
}

/**
 * Loads what a collector has journaled and not loaded, so that the outcome does not depend on its progress. Then reads
 * the journal of the hours with holes again, fills slots, and derives closes.
 */
async function fillGaps(
  backfill: BackfillContext,
  pool: pg.Pool,
  { from, to }: GapsRequest,
): Promise<FilledGaps> {
  const { config, edges } = backfill;
  await loadAll({ pool, journalDir: journalDir(config), clock: edges.clock });
  const holes = await listHoles(pool, { from, to });
  const tally = { report: NOTHING_DONE };
  await replay({
    ...(await journalOf(backfill, await hoursWithMisses(pool, { from, to }))),
    ends: await readPositions(pool),
    pool,
    runPosition: null,
    tally,
  });
  const { stored, deadLetters } = tally.report;
  const now = instantFromDate(edges.clock.now());
  const filled = await fillSlots(pool, { from, to, by: "gaps", now, polled: await polledJobs(config) });
  const derived = await deriveCloses(pool, { ...datesOf({ from, to }), now });
  return { holes, stored, deadLetters, filled, derived, left: await listHoles(pool, { from, to }) };
}

const MOST_LINES = 40;

function print({ holes, stored, deadLetters, filled, derived, left }: FilledGaps, edges: Edges): void {
  edges.stdout.write(`${holeLines(holes, left, edges).join("\n")}\n`);
  say(
    edges.stdout,
    `${thousands(missesOf(holes))} missed = ${thousands(filled)} filled + ${thousands(missesOf(holes) - filled)} left; ${counted(stored, "quote")} came from the journal`,
    ...deadLetterLines(deadLetters, "; the table dead_letters has each"),
    `${counted(derived, "close")} derived from the next session, in derived_closes`,
  );
}

/** The holes as a table. @param left those that are left; null: nothing was filled yet */
function holeLines(holes: readonly Hole[], left: readonly Hole[] | null, edges: Edges): string[] {
  if (holes.length === 0) return ["The ledger has no holes."];
  const columns = [
    "Date",
    { heading: "Job", wrap: "-" },
    { heading: "Reason", wrap: "_" },
    ...right("Slots", "Instruments", "Missed", ...(left === null ? [] : ["Left"])),
  ];
  const leftOf = new Map(left?.map((hole) => [keyOf(hole), hole.misses]));
  const cells = holes
    .slice(0, MOST_LINES)
    .map((hole) => [
      hole.date,
      hole.source === "account" ? hole.job : `${hole.job} (${hole.source})`,
      hole.reason,
      thousands(hole.slots),
      thousands(hole.instruments),
      thousands(hole.misses),
      ...(left === null ? [] : [thousands(leftOf.get(keyOf(hole)) ?? 0)]),
    ]);
  const further = holes.length - cells.length;
  return [
    table(columns, cells, edges).trimEnd(),
    ...(further > 0 ? [`and ${thousands(further)} further; --from and --to narrow it, --json has all`] : []),
  ];
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
