/** How far a backfill has read a journal, persisted in the transaction of the rows. */
import { and, between, eq, sql, type SQL } from "drizzle-orm";
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type HeldPosition, lockPosition, type Part } from "../load/loadPosition.ts";
import { backfillPositions, backfills } from "../schema/backfillSchema.ts";
import { journalPositions } from "../schema/internalSchema.ts";
import { insertAll, tablesOn } from "../schema/tableRows.ts";
import { type BackfillReport, withLoaded } from "./backfillReport.ts";
import type { Run } from "./runs.ts";

/** Nothing to lock and nothing to move: each run begins anew. */
export const NO_POSITION: HeldPosition = {
  take: () => Promise.resolve(true),
  move: () => Promise.resolve(),
};

/**
 * @param options.loaderToo whether the loader's own position moves as well where the stretch joins it: the journal is
 *   this archive's, and every record of it is read
 */
export function positionOfRun(run: Run, { loaderToo }: { loaderToo: boolean }): HeldPosition {
  return {
    take: async (client, { segment, from }) => {
      // Should the server crash, the last batches and their positions are gone together, and the next run reads them
      // again. The run's own end is written in the ordinary way, and all that came before is on disk with it.
      await client.query("set local synchronous_commit = off");
      // Always before the run's own: a loader at work on the segment is waited for.
      if (loaderToo) await lockPosition(client, segment);
      return (await lockRead(client, run.id, segment)) === from;
    },
    move: async (client, { segment, from, to }, loaded) => {
      const tables = tablesOn(client);
      await tables
        .update(backfillPositions)
        .set({ readTo: to })
        .where(isRead(run.id, segment))
        .prepare("move backfill")
        .execute();
      await noteReport(client, run.id, withLoaded(run.report, loaded));
      if (loaderToo)
        await tables
          .update(journalPositions)
          .set({ loadedTo: to, loadedAt: sql`now()` })
          .where(and(eq(journalPositions.segment, segment), between(journalPositions.loadedTo, from, to)))
          .prepare("join position")
          .execute();
    },
  };
}

/** How far an unfinished backfill has read each segment. */
export async function readReadPositions(pool: pg.Pool, runId: number): Promise<Map<string, number>> {
  const rows = await tablesOn(pool)
    .select()
    .from(backfillPositions)
    .where(eq(backfillPositions.backfillId, runId));
  return new Map(rows.map(({ segment, readTo }) => [segment, readTo]));
}

async function lockRead(client: pg.PoolClient, backfillId: number, segment: string): Promise<number> {
  await insertAll(client, backfillPositions, [{ backfillId, segment, readTo: 0 }]);
  const [position] = await tablesOn(client)
    .select({ readTo: backfillPositions.readTo })
    .from(backfillPositions)
    .where(isRead(backfillId, segment))
    .for("update")
    .prepare("lock backfill segment")
    .execute();
  return position?.readTo ?? 0;
}

function isRead(backfillId: number, segment: string): SQL | undefined {
  return and(eq(backfillPositions.backfillId, backfillId), eq(backfillPositions.segment, segment));
}

/** The error for a stretch that another process of the same backfill has loaded. */
export function overtaken({ segment, from }: Pick<Part, "segment" | "from">): QuotekeeperError {
  return new QuotekeeperError(
    "BACKFILL_OVERTAKEN",
    `another process has read ${segment} beyond byte ${from}`,
  );
}

/** Persists what a backfill has done so far. */
async function noteReport(
  client: pg.Pool | pg.ClientBase,
  id: number,
  report: BackfillReport,
): Promise<void> {
  await tablesOn(client)
    .update(backfills)
    .set({ report })
    .where(eq(backfills.id, id))
    .prepare("note backfill")
    .execute();
}
