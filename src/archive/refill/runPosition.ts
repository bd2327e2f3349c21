/** How far a backfill has read a journal, persisted in the transaction of the rows. */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { type HeldPosition, lockPosition, type Part } from "../load/loadPosition.ts";
import { jsonText } from "../../ground/outsideText.ts";
import { backfillPositions } from "../schema/backfillSchema.ts";
import { insertAll } from "../schema/tableRows.ts";
import { withLoaded } from "./backfillReport.ts";
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
      await client.query({
        name: "move backfill",
        text: "update backfill_positions set read_to = $3 where backfill_id = $1 and segment = $2",
        values: [run.id, segment, to],
      });
      await client.query({
        name: "note backfill",
        text: "update backfills set report = $2 where id = $1",
        values: [run.id, jsonText(withLoaded(run.report, loaded))],
      });
      if (loaderToo)
        await client.query({
          name: "join position",
          text: `update journal_positions set loaded_to = $3, loaded_at = now()
            where segment = $1 and loaded_to between $2 and $3`,
          values: [segment, from, to],
        });
    },
  };
}

/** How far an unfinished backfill has read each segment. */
export async function readReadPositions(pool: pg.Pool, runId: number): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ segment: string; to: number }>(
    "select segment, read_to::float8 as to from backfill_positions where backfill_id = $1",
    [runId],
  );
  return new Map(rows.map(({ segment, to }) => [segment, to]));
}

async function lockRead(client: pg.PoolClient, backfillId: number, segment: string): Promise<number> {
  await insertAll(client, backfillPositions, [{ backfillId, segment, readTo: 0 }]);
  const { rows } = await client.query<{ to: number }>({
    name: "lock backfill segment",
    text: "select read_to::float8 as to from backfill_positions where backfill_id = $1 and segment = $2 for update",
    values: [backfillId, segment],
  });
  return rows[0]?.to ?? 0;
}

/** The error for a stretch that another process of the same backfill has loaded. */
export function overtaken({ segment, from }: Pick<Part, "segment" | "from">): QuotekeeperError {
  return new QuotekeeperError(
    "BACKFILL_OVERTAKEN",
    `another process has read ${segment} beyond byte ${from}`,
  );
}
