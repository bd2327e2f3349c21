/** How far the journal has been loaded: written down in the transaction of the rows, and locked while they go in. */
import { sql } from "drizzle-orm";
import pg from "pg";
import { nodeFs } from "../../journal/fs.ts";
import { journalLag, type Lag } from "../../journal/lag.ts";
import { listSegments } from "../../journal/segments.ts";
import { BEGIN_STORING } from "../connect/transaction.ts";
import { journalPositions } from "../schema/internalSchema.ts";
import { tablesOn } from "../schema/tableRows.ts";
import type { Batch, LoadReport } from "./batch.ts";

export type Part = Pick<Batch, "segment" | "from" | "to">;

/** A position within a transaction of the caller's. */
export type HeldPosition = {
  /** Locks the position until the transaction ends. False: the batch does not begin at the position. */
  take: (client: pg.PoolClient, batch: Pick<Batch, "segment" | "from">) => Promise<boolean>;
  move: (client: pg.PoolClient, part: Part, report: LoadReport) => Promise<void>;
};

/** A position whose transactions have one batch each. */
export type LoadPosition = {
  /** Opens a transaction that stores, and locks the position until it ends. False: the batch does not begin at the position. */
  begin: (client: pg.PoolClient, batch: Pick<Batch, "segment" | "from">) => Promise<boolean>;
  /** Moves the position and commits. */
  commit: (client: pg.PoolClient, part: Part, report: LoadReport) => Promise<void>;
};

export const ofBatches = ({ take, move }: HeldPosition): LoadPosition => ({
  begin: async (client, batch) => {
    await client.query(BEGIN_STORING);
    return take(client, batch);
  },
  commit: async (client, part, report) => {
    await move(client, part, report);
    await client.query("commit");
  },
});

/**
 * The loader's own: two programs never load the same stretch, and a stretch is never left out. A live answer waits for each
 * message between program and server, so the position goes with the messages that open and end the transaction.
 */
export const JOURNAL_POSITION: LoadPosition = {
  begin: async (client, { segment, from }) => {
    const lock = `select loaded_to::float8 from journal_positions where segment = ${pg.escapeLiteral(segment)} for update`;
    // Of several statements each has a result.
    const results = await client.query<{ loaded_to: number }>(`${BEGIN_STORING}; ${lock}`);
    const [locked] = (results as unknown as pg.QueryResult<{ loaded_to: number }>[]).at(-1)?.rows ?? [];
    return (locked?.loaded_to ?? (await lockPosition(client, segment))) === from;
  },
  commit: async (client, { segment, to }) => {
    const of = `segment = ${pg.escapeLiteral(segment)}`;
    await client.query(
      `update journal_positions set loaded_to = ${to}, loaded_at = now() where ${of}; commit`,
    );
  },
};

/** How far each segment has been loaded; of all that were begun, or of the ones given. */
export async function readPositions(
  pool: pg.Pool,
  segments: readonly string[] | null = null,
): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ segment: string; to: number }>(
    `select segment, loaded_to::float8 as to from journal_positions
     where $1::text[] is null or segment = any ($1::text[])`,
    [segments],
  );
  return new Map(rows.map(({ segment, to }) => [segment, to]));
}

/**
 * How far the database lies behind the journal of a directory; other machines' are not looked at.
 *
 * @param wanted the segments that count
 */
export async function readLag(
  pool: pg.Pool,
  journalDir: string,
  wanted: (segment: string) => boolean = () => true,
): Promise<Lag> {
  const segments = await listSegments(journalDir, nodeFs, wanted);
  const names = segments.map(({ name }) => name);
  return journalLag(journalDir, await readPositions(pool, names), { segments });
}

/** The segment's position, begun at 0 where there is none, locked until the transaction ends. */
export async function lockPosition(client: pg.PoolClient, segment: string): Promise<number> {
  const lock = async (): Promise<number | undefined> => {
    const { rows } = await client.query<{ to: number }>({
      name: "lock position",
      text: "select loaded_to::float8 as to from journal_positions where segment = $1 for update",
      values: [segment],
    });
    return rows[0]?.to;
  };
  const known = await lock();
  if (known !== undefined) return known;
  const begun = { segment, loadedTo: 0, loadedAt: sql`now()` };
  await tablesOn(client).insert(journalPositions).values(begun).onConflictDoNothing();
  return (await lock()) ?? 0;
}
