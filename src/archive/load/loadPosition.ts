/** How far the journal has been loaded: written down in the transaction of the rows, and locked while they go in. */
import { eq, sql } from "drizzle-orm";
import pg from "pg";
import { nodeFs } from "../../journal/fs.ts";
import { journalLag, type Lag } from "../../journal/lag.ts";
import { listSegments } from "../../journal/segments.ts";
import { BEGIN_STORING } from "../connect/transaction.ts";
import { journalPositions } from "../schema/internalSchema.ts";
import { tablesOn } from "../schema/tableRows.ts";
import type { Batch, LoadReport } from "./batch.ts";

/** A part of a segment, bytes of the uncompressed stream. */
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

/** One transaction for each batch. */
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
  const rows = await tablesOn(pool)
    .select({ segment: journalPositions.segment, loadedTo: journalPositions.loadedTo })
    .from(journalPositions)
    // One value, not one for each name: a journal has a segment an hour.
    .where(
      segments === null ? undefined : sql`${journalPositions.segment} = any (${sql.param(segments)}::text[])`,
    );
  return new Map(rows.map(({ segment, loadedTo }) => [segment, loadedTo]));
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
  const tables = tablesOn(client);
  const lock = tables
    .select({ loadedTo: journalPositions.loadedTo })
    .from(journalPositions)
    .where(eq(journalPositions.segment, segment))
    .for("update")
    .prepare("lock position");
  const [known] = await lock.execute();
  if (known) return known.loadedTo;
  const begun = { segment, loadedTo: 0, loadedAt: sql`now()` };
  await tables.insert(journalPositions).values(begun).onConflictDoNothing();
  const [position] = await lock.execute();
  return position?.loadedTo ?? 0;
}
