/** Backfills as the database remembers them: one that was ended in its midst goes on when the same is asked again. */
import { createHash } from "node:crypto";
import { eq, and, between, sql, type SQL } from "drizzle-orm";
import type pg from "pg";
import { backfills, backfillPositions } from "../schema/backfillSchema.ts";
import { columnList, tablesOn, insertAll } from "../schema/tableRows.ts";
import type { Instant } from "../../clock.ts";
import { type BackfillReport, NOTHING_DONE, withLoaded } from "./backfillReport.ts";
import { journalPositions } from "../schema/internalSchema.ts";
import { type LoadPosition, lockPosition, type Part } from "../load/loadPosition.ts";
import { QuotekeeperError } from "../../errors.ts";
import { jsonText } from "../../outsideText.ts";
import { transactionOn } from "../connect/transaction.ts";

/** What was asked: two runs with the same are the same backfill. Plain JSON, without secrets. */
export type Asked = { kind: "journal" | "xml" | "csv" | "parquet" | "sweep"; [detail: string]: unknown };

/** A backfill under way. */
export type Run = {
  id: number;
  /** Whether an earlier run of it was ended in its midst. */
  resumed: boolean;
  /** Whether the ledger held no slot when it began: it restores an archive then, and fills no slots of its own. */
  beganEmpty: boolean;
  /** What it has done so far. */
  report: BackfillReport;
};

/** Goes on with an unfinished backfill of the same, or begins one. */
export async function beginRun(pool: pg.Pool, { kind, ...asked }: Asked, now: Instant): Promise<Run> {
  const text = jsonText(asked);
  const digest = createHash("sha256").update(`${kind} ${text}`).digest("hex");
  const { rows } = await pool.query<Run>(
    `with begun as (
       insert into backfills (${columnList(backfills, "kind", "asked", "digest", "beganEmpty", "startedAt", "report")})
       select $1, $2, $3, not exists (select from slots), $4, $5
       on conflict (digest) where finished_at is null do nothing
       returning id, false as resumed, began_empty as "beganEmpty", report
     )
     select * from begun
     union all
     select id, true, began_empty, report from backfills where digest = $3 and finished_at is null
     limit 1`,
    [kind, text, digest, now, jsonText(NOTHING_DONE)],
  );
  const row = rows[0];
  if (row === undefined) return beginRun(pool, { kind, ...asked }, now);
  return { ...row, report: { ...NOTHING_DONE, ...row.report } };
}

/** Writes down what it has done so far. */
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

/** Ends it: asked again, it begins anew. */
export async function finishRun(pool: pg.Pool, { id, report }: Run, now: Instant): Promise<void> {
  await pool.query(
    `with gone as (delete from backfill_positions where backfill_id = $1)
     update backfills set finished_at = $2, report = $3 where id = $1`,
    [id, now, jsonText(report)],
  );
}

// How far a backfill has read a journal, written down in the transaction of the rows.

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

// One import at a time into each source: two would give the same second's answers the same times. And one lake at a time.

/**
 * Tells whether another session of this user bears a name, and gives the name to this one if none does. Not an advisory
 * lock, which every reader of the database can take; nor a row's, for a transaction that lasts as long as an import keeps
 * dead rows from being removed.
 */
const TAKE_NAME = `
  select set_config('application_name', $1, false) as name
  where not exists (
    select from pg_stat_activity
    where application_name = $1 and datname = current_database() and usename = session_user and pid <> pg_backend_pid()
  )`;

/**
 * Runs `work` while no other import into the source runs. A process that is killed leaves no lock behind.
 *
 * @throws QuotekeeperError BACKFILL_OVERTAKEN when there is one
 */
export async function withSourceLock<T>(pool: pg.Pool, name: string, work: () => Promise<T>): Promise<T> {
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
  const busy = new QuotekeeperError(
    "BACKFILL_OVERTAKEN",
    `another import into the source ${name} is under way`,
  );
  return withName(pool, { name: `quotekeeper imports ${digest}`, busy }, work);
}

/**
 * Runs `work` on an archive's lake while nobody else does.
 *
 * @throws QuotekeeperError LAKE_BUSY when somebody does
 */
export async function withLakeLock<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const busy = new QuotekeeperError("LAKE_BUSY", "another program is at work on this archive's lake");
  return withName(pool, { name: "quotekeeper lake", busy }, work);
}

async function withName<T>(
  pool: pg.Pool,
  { name, busy }: { name: string; busy: QuotekeeperError },
  work: () => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const { rowCount } = await transactionOn(client, async () => {
      await client.query("lock table backfills in share update exclusive mode");
      return client.query(TAKE_NAME, [name]);
    });
    if (rowCount !== 1) throw busy;
    return await work();
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    // Ending the connection ends the lock, however the work has ended; the server needs a moment for it, which nobody waits for.
    await client.query("set application_name to default").catch(() => undefined);
    client.release(broken ?? true);
  }
}
