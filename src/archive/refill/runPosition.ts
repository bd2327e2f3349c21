/** How far a backfill has read a journal, written down in the transaction of the rows. */
import type pg from "pg";
import { type LoadPosition, lockPosition, type Stretch } from "../loadPosition.ts";
import { QuotekeeperError } from "../../errors.ts";
import { withLoaded } from "./report.ts";
import { noteReport, type Run } from "./runs.ts";

/** Nothing to lock and nothing to move: each run begins anew. */
export const NO_POSITION: LoadPosition = {
  take: () => Promise.resolve(true),
  move: () => Promise.resolve(),
};

/**
 * @param options.loaderToo whether the loader's own position moves as well where the stretch joins it: the journal is
 *   this archive's, and every record of it is read
 */
export function positionOfRun(run: Run, { loaderToo }: { loaderToo: boolean }): LoadPosition {
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
      await noteReport(client, run.id, withLoaded(run.report, loaded));
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
  const { rows } = await pool.query<{ segment: string; read_to: string }>(
    "select segment, read_to from backfill_positions where backfill_id = $1",
    [runId],
  );
  return new Map(rows.map(({ segment, read_to }) => [segment, Number(read_to)]));
}

async function lockRead(client: pg.PoolClient, runId: number, segment: string): Promise<number> {
  await client.query({
    name: "begin backfill segment",
    text: `insert into backfill_positions (backfill_id, segment, read_to) values ($1, $2, 0) on conflict do nothing`,
    values: [runId, segment],
  });
  const { rows } = await client.query<{ read_to: string }>({
    name: "lock backfill segment",
    text: "select read_to from backfill_positions where backfill_id = $1 and segment = $2 for update",
    values: [runId, segment],
  });
  return Number(rows[0]?.read_to ?? 0);
}

/** The error for a stretch that another process of the same backfill has loaded. */
export function overtaken({ segment, from }: Pick<Stretch, "segment" | "from">): QuotekeeperError {
  return new QuotekeeperError(
    "BACKFILL_OVERTAKEN",
    `another process has read ${segment} beyond byte ${from}`,
  );
}
