/** `quotekeeper backfill --gaps`: the holes of the ledger, and what can still be known of them. */
import type pg from "pg";
import { migrate } from "../../archive/migrate.ts";
import { copyQuotesAroundMisses, createShadow } from "../../backfill/dryRun/shadow.ts";
import { deriveCloses } from "../../backfill/gaps/deriveCloses.ts";
import { fillSlots } from "../../backfill/gaps/fillSlots.ts";
import { type Hole, hoursWithMisses, listHoles } from "../../backfill/gaps/listHoles.ts";
import { replay } from "../../backfill/journal/replay.ts";
import { segmentsOfHours } from "../../backfill/journal/segments.ts";
import { NOTHING_DONE } from "../../backfill/report.ts";
import type { Config } from "../../config/loadEnvironment.ts";
import { dateOf, type Instant, instantFromDate } from "../../instant.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import type { Edges } from "../edges.ts";
import { gapsJson } from "../json/backfill.ts";
import { printJson } from "../json/print.ts";
import { type Archive, requireArchive, requireSchema, withArchive } from "../parts/archive.ts";
import { journalDir } from "../parts/collection.ts";
import { table } from "../parts/table.ts";
import { delayedJobs } from "./delayedJobs.ts";
import { createDisplay, type Display } from "./display.ts";
import { endingAtInterrupt } from "./ending.ts";
import type { CommonRequest } from "./program.ts";

/** What was asked for. */
export type GapsRequest = CommonRequest & { from: Instant | null; to: Instant | null };

/** What came of it. */
type Outcome = {
  /** As the ledger had them at first. */
  holes: Hole[];
  /** Quotes of the journal that the archive had not. */
  stored: number;
  filled: number;
  derived: number;
  /** As the ledger has them now. */
  left: Hole[];
};

/** @returns 0 when no hole is left, 1 otherwise */
export async function backfillGaps(config: Config, edges: Edges, request: GapsRequest): Promise<number> {
  await requireArchive(config);
  const display = createDisplay(config, edges, "reading the journal of the hours with holes");
  try {
    const outcome = await endingAtInterrupt(edges, (signal) =>
      withArchive(config, edges.clock, async (archive) => {
        if (request.dryRun) await requireSchema(archive.pool, archive.address);
        else await migrate(archive.pool, instantFromDate(edges.clock.now()));
        return request.dryRun
          ? tryIt(config, edges, archive, request, display, signal)
          : doIt(config, edges, archive.pool, request, display, signal);
      }),
    );
    display.end();
    if (request.json) printJson(edges.stdout, gapsJson, { dryRun: request.dryRun, ...outcome });
    else edges.stdout.write(text(outcome, request, edges));
    return missesOf(outcome.left) > 0 ? 1 : 0;
  } catch (error) {
    display.end();
    throw error;
  }
}

/** Reads the journal of the hours with holes again, fills what then can be filled, derives closes. */
async function doIt(
  config: Config,
  { clock }: Edges,
  pool: pg.Pool,
  { from, to }: GapsRequest,
  display: Display,
  signal: AbortSignal,
): Promise<Outcome> {
  const holes = await listHoles(pool, { from, to });
  const tally = { report: NOTHING_DONE };
  const dir = journalDir(config);
  await replay({
    ...{ pool, journalDir: dir, tally, signal, onProgress: display.progress },
    segments: await segmentsOfHours(dir, await hoursWithMisses(pool, { from, to })),
    ...{ positions: new Map(), wanted: () => true, bookmark: null },
    onDamage: (segment, offset, length, reason) =>
      display.log.warn({ segment, offset, length, reason }, "damaged bytes of the journal were passed over"),
  });
  const now = instantFromDate(clock.now());
  const filled = await fillSlots(pool, { from, to, by: "gaps", now, delayedJobs: await delayedJobs(config) });
  const derived = await deriveCloses(pool, { ...datesOf({ from, to }), now });
  return { holes, stored: tally.report.stored, filled, derived, left: await listHoles(pool, { from, to }) };
}

/** The same on copies, which are gone afterwards. */
async function tryIt(
  config: Config,
  edges: Edges,
  archive: Archive,
  request: GapsRequest,
  display: Display,
  signal: AbortSignal,
): Promise<Outcome> {
  const scratch = archive.openScratch();
  try {
    await createShadow(scratch);
    await copyQuotesAroundMisses(scratch);
    return await doIt(config, edges, scratch, request, display, signal);
  } finally {
    await scratch.end();
  }
}

/** Most holes that are listed for people; `--json` has all. */
const MOST_LINES = 40;

function text(
  { holes, stored, filled, derived, left }: Outcome,
  { dryRun }: GapsRequest,
  edges: Edges,
): string {
  const columns = [
    { heading: "Date" },
    { heading: "Job", wrap: "-" },
    { heading: "Reason", wrap: "_" },
    { heading: "Slots", right: true },
    { heading: "Instruments", right: true },
    { heading: "Missed", right: true },
    { heading: "Left", right: true },
  ];
  const leftOf = new Map(left.map((hole) => [keyOf(hole), hole.misses]));
  const cells = holes
    .slice(0, MOST_LINES)
    .map((hole) => [
      hole.date,
      hole.source === "account" ? hole.job : `${hole.job} (${hole.source})`,
      hole.reason,
      count(hole.slots),
      count(hole.instruments),
      count(hole.misses),
      count(leftOf.get(keyOf(hole)) ?? 0),
    ]);
  const further = holes.length - cells.length;
  const lines = [
    ...(dryRun ? ["Nothing was changed. This is what would be:"] : []),
    ...(holes.length === 0
      ? ["The ledger has no holes."]
      : [table(columns, cells, edges.stdout, edges.env).trimEnd()]),
    ...(further > 0 ? [`and ${count(further)} further; --from and --to narrow it, --json has all`] : []),
    `${count(missesOf(holes))} missed = ${count(filled)} filled + ${count(missesOf(holes) - filled)} left; ${count(stored)} quotes came from the journal`,
    `${count(derived)} closes derived from the next session, in derived_closes`,
  ];
  return `${lines.join("\n")}\n`;
}

function keyOf({ job, date, source, reason }: Hole): string {
  return [job, date, source, reason].join("\n");
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function datesOf({ from, to }: Pick<GapsRequest, "from" | "to">): { from: string | null; to: string | null } {
  return {
    from: from === null ? null : exchangeDate(dateOf(from)),
    to: to === null ? null : exchangeDate(new Date(dateOf(to).getTime() - 1)),
  };
}

function missesOf(holes: readonly Hole[]): number {
  return holes.reduce((sum, { misses }) => sum + misses, 0);
}
