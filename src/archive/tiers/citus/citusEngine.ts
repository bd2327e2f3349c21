/**
 * Citus: tables that span machines. Quotes and bars are cut by instrument and lie on the workers, those of one instrument beside
 * each other; what they are joined with has a copy on every node; all else, answers and ledger and position among it, stays on
 * the coordinator. docs/decisions/citus.md
 */
import type { Queryable } from "../../connect/transaction.ts";
import { QuotekeeperError } from "../../../ground/errors.ts";
import { type Engine, ONE_MACHINE } from "../engine.ts";
import { isOnCitus } from "./isOnCitus.ts";
import { NEAR_FOUND } from "./near.ts";

/** A worker looks for rows of its own series alone. Who writes to a table that all nodes have locks the whole. */
const CITUS: Engine = {
  instrumentsLocked: "",
  newestBars: `(
    select b.instrument_id, b.source_id, b.delayed, b.last_at from session_bars b where not exists (
      select from session_bars l
      where l.instrument_id = b.instrument_id and l.source_id = b.source_id and l.delayed = b.delayed and l.date > b.date
    )
  )`,
  nextQuote: `left join (
    select w.place, min(q.observed_at) as observed_at from w join quotes q
      on q.instrument_id = w.instrument_id and q.source_id = w.source_id and q.observed_at > w.observed_at
    group by w.place
  ) n on n.place = w.place`,
  nearFound: NEAR_FOUND,
  plansOnce: false,
  // The workers share the bars of one call, which locks all that are due.
  barMakers: 1,
  hasOneSnapshot: false,
};

/** The engine of what this connection calls `quotes`. */
export async function engineOf(db: Queryable): Promise<Engine> {
  return (await isOnCitus(db)) ? CITUS : ONE_MACHINE;
}

/**
 * For the rest of a transaction each worker is asked over one connection: what was written to a copied table over one cannot be
 * joined with rows that were written over another (25001). Citus opens more of them when a worker takes longer than some
 * milliseconds. For transactions that write to both; elsewhere it does nothing.
 */
export async function oneConnectionEach(db: Queryable): Promise<void> {
  if (await isOnCitus(db)) await db.query("set local citus.multi_shard_modify_mode = 'sequential'");
}

/** What a worker has prepared and not committed: a coordinator commits on itself first, and then on its workers. */
const PREPARED = `select coalesce(string_agg(gid, ' '), '') from pg_prepared_xacts where gid like 'citus\\_%' and database = current_database()`;

/** How long a look for commits under way waits for the next one, in s. */
const LOOK_AGAIN_S = 0.01;

/**
 * Resolves when all that was committed at the call can be seen on every node. There is no common snapshot: whoever has read a
 * position may find rows before it missing for a moment. Code that compares both reads the position, waits, then reads the rows.
 *
 * @throws QuotekeeperError DATABASE_UNREACHABLE when a worker cannot be asked; the database's errors
 */
export async function commitsSettled(db: Queryable): Promise<void> {
  if (!(await isOnCitus(db))) return;
  let awaited = await readPrepared(db);
  // What a killed coordinator has left is finished each minute, or at once by a user who may do so.
  if (awaited.length > 0) await finishCommits(db);
  while (awaited.length > 0) {
    const left = await readPrepared(db);
    awaited = awaited.filter((gid) => left.includes(gid));
    if (awaited.length > 0) await db.query("select pg_sleep($1)", [LOOK_AGAIN_S]);
  }
}

async function readPrepared(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ success: boolean; result: string }>(
    "select success, result from run_command_on_workers($1)",
    [PREPARED],
  );
  const away = rows.find(({ success }) => !success);
  if (away !== undefined)
    throw new QuotekeeperError("DATABASE_UNREACHABLE", `a worker of Citus cannot be asked: ${away.result}`);
  return rows.flatMap(({ result }) => result.split(" ").filter((gid) => gid !== ""));
}

/** Only who may: it is asked for first, since an error would end a transaction under way. */
async function finishCommits(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ may: boolean }>(
    `select has_function_privilege('recover_prepared_transactions()', 'execute')
       and current_setting('transaction_read_only') = 'off' as may`,
  );
  if (rows[0]?.may) await db.query("select recover_prepared_transactions()");
}
