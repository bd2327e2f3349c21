/** How far the journal has been loaded: written down in the transaction of the rows, and locked while they go in. */
import type pg from "pg";
import type { Batch, LoadReport } from "./batch.ts";

/** A stretch of a segment, bytes of the uncompressed stream. */
export type Stretch = Pick<Batch, "segment" | "from" | "to">;

/** Where it is written down how far a load has come. */
export type LoadPosition = {
  /** Locks it until the transaction ends. False: the batch does not begin where it stands. */
  take: (client: pg.PoolClient, batch: Pick<Batch, "segment" | "from">) => Promise<boolean>;
  /** Moves it behind what was loaded. */
  move: (client: pg.PoolClient, stretch: Stretch, report: LoadReport) => Promise<void>;
};

/** The loader's own: two programs never load the same stretch, and a stretch is never left out. */
export const JOURNAL_POSITION: LoadPosition = {
  take: async (client, { segment, from }) => (await lockPosition(client, segment)) === from,
  move: async (client, { segment, to }) => {
    await client.query({
      name: "move position",
      text: "update journal_positions set loaded_to = $2, loaded_at = now() where segment = $1",
      values: [segment, to],
    });
  },
};

/** How far each segment has been loaded; of all that were begun, or of the ones given. */
export async function readPositions(
  pool: pg.Pool,
  segments: readonly string[] | null = null,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ segment: string; loaded_to: string }>(
    "select segment, loaded_to from journal_positions where $1::text[] is null or segment = any ($1)",
    [segments],
  );
  return new Map(rows.map(({ segment, loaded_to }) => [segment, Number(loaded_to)]));
}

/** The segment's position, begun at 0 where there is none, locked until the transaction ends. */
export async function lockPosition(client: pg.PoolClient, segment: string): Promise<number> {
  const lock = async (): Promise<{ loaded_to: string } | undefined> => {
    const { rows } = await client.query<{ loaded_to: string }>({
      name: "lock position",
      text: "select loaded_to from journal_positions where segment = $1 for update",
      values: [segment],
    });
    return rows[0];
  };
  const known = await lock();
  if (known) return Number(known.loaded_to);
  await client.query(
    "insert into journal_positions (segment, loaded_to, loaded_at) values ($1, 0, now()) on conflict do nothing",
    [segment],
  );
  return Number((await lock())?.loaded_to ?? 0);
}
