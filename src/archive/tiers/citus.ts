/**
 * Citus: tables that span machines. Quotes and bars are cut by instrument and lie on the workers, those of one instrument beside
 * each other; what they are joined with has a copy on every node; all else, answers and ledger and position among it, stays on
 * the coordinator. docs/decisions/citus.md
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { QuotekeeperError } from "../../errors.ts";
import { READER } from "../connect/fixedNames.ts";
import { transactionOn } from "../connect/transaction.ts";
import { CITUS_ASKED } from "./citusAsked.ts";
import { LOCK_DUE_BARS } from "./citusBars.ts";
import { CITUS_VIEWS } from "./citusViews.ts";

/** Tables that are cut by `instrument_id`. */
const DISTRIBUTED = ["quotes", "extended_quotes", "session_bars", "intraday_bars"] as const;

/** Small tables of which every node has a copy. */
const COPIED = ["sources", "instruments", "sessions"] as const;

/** Those of them whose rows the database numbers. Citus takes no identity columns of 32 bits. */
const NUMBERED = ["sources", "instruments"] as const;

/** As many as 1, 2, 3, 4, 6 or 12 workers share evenly. Each is a table of its own for each month, and a part of every question. */
const SHARDS = 12;

/** Functions that questions call on the workers. */
const ON_WORKERS = [
  "session_of(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz)",
  "bar_beginning(timestamptz, interval, timestamptz, timestamptz, timestamptz, timestamptz)",
  "log_return(numeric, numeric)",
  "five_minutes(timestamptz, timestamptz)",
  "opens_at(smallint, date, timestamptz)",
];

type Queryable = Pick<pg.ClientBase, "query">;

const known = new WeakMap<object, Promise<boolean>>();

/**
 * Whether what this connection calls `quotes` is cut over nodes. Asked once of each connection: one that fails is closed, so
 * that nobody remembers what was before a move. A trial's own tables hide the archive's, and are not.
 */
export function isOnCitus(db: Queryable | pg.Pool): Promise<boolean> {
  const asked = known.get(db) ?? readIsOnCitus(db as Queryable, () => known.delete(db));
  known.set(db, asked);
  asked.catch(() => known.delete(db));
  return asked;
}

/** @param forget called where a move may come: then it is asked for again */
async function readIsOnCitus(db: Queryable, forget: () => void): Promise<boolean> {
  const catalog = await db.query<{ there: boolean }>(
    "select to_regclass('pg_catalog.pg_dist_partition') is not null as there",
  );
  if (!catalog.rows[0]?.there) return false;
  const { rows } = await db.query<{ cut: boolean }>(
    "select exists (select from pg_dist_partition where logicalrelid = to_regclass('quotes')) as cut",
  );
  if (rows[0]?.cut !== true) forget();
  return rows[0]?.cut === true;
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
 * position may find rows before it missing for a moment. Who draws conclusions from both reads the position, waits, then reads rows.
 *
 * @throws the database's errors; 08006 when a worker cannot be asked
 */
export async function commitsSettled(db: Queryable | pg.Pool): Promise<void> {
  if (!(await isOnCitus(db))) return;
  let awaited: ReadonlySet<string> | null = null;
  for (;;) {
    const under = await readPrepared(db as Queryable);
    const left: string[] = awaited === null ? [...under] : [...under].filter((gid) => awaited?.has(gid));
    if (left.length === 0) return;
    // What a killed coordinator has left is finished each minute, or at once by whoever may.
    if (awaited === null) await finishCommits(db as Queryable);
    awaited = new Set(left);
    await (db as Queryable).query("select pg_sleep($1)", [LOOK_AGAIN_S]);
  }
}

async function readPrepared(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ success: boolean; result: string }>(
    "select success, result from run_command_on_workers($1)",
    [PREPARED],
  );
  const away = rows.find(({ success }) => !success);
  if (away !== undefined)
    throw Object.assign(new Error(`a worker of Citus cannot be asked: ${away.result}`), {
      code: CONNECTION_FAILURE,
    });
  return new Set(rows.flatMap(({ result }) => result.split(" ").filter((gid) => gid !== "")));
}

/** 08006 connection_failure. PostgreSQL Appendix A. */
const CONNECTION_FAILURE = "08006";

/** Only who may: it is asked for first, since an error would end a transaction under way. */
async function finishCommits(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ may: boolean }>(
    `select has_function_privilege('recover_prepared_transactions()', 'execute')
       and current_setting('transaction_read_only') = 'off' as may`,
  );
  if (rows[0]?.may) await db.query("select recover_prepared_transactions()");
}

/** What there is of Citus on a server: its version in this database, null where it is not; and how many nodes hold shards. */
export async function readCitus(
  db: Queryable,
): Promise<{ version: string | null; workers: number; holds: boolean }> {
  const { rows } = await db.query<{ version: string | null }>(
    "select (select extversion from pg_extension where extname = 'citus') as version",
  );
  const version = rows[0]?.version ?? null;
  if (version === null) return { version, workers: 0, holds: false };
  const nodes = await db.query<{ release: string; workers: number; holds: boolean }>(
    `select substring(citus_version() from 'Citus (\\S+)') as release,
       (select count(*)::int from pg_dist_node where shouldhaveshards and isactive) as workers,
       exists (select from pg_dist_partition where logicalrelid = to_regclass('quotes')) as holds`,
  );
  const [{ release, workers, holds } = { release: version, workers: 0, holds: false }] = nodes.rows;
  return { version: release, workers, holds };
}

/**
 * Cuts the tables over the workers, every row kept. Runs as one transaction over all nodes: it happens as a whole or not at all.
 * Nobody can read or write meanwhile.
 *
 * @param client holds the migration lock
 * @throws QuotekeeperError DATABASE_REFUSED when the server has no Citus, or no nodes to move to
 */
export async function moveToCitus(client: pg.ClientBase): Promise<void> {
  await prepareExtension(client);
  await transactionOn(client, async () => {
    await client.query(`lock table ${[...DISTRIBUTED, ...COPIED].join(", ")} in access exclusive mode`);
    await client.query(`set local citus.shard_count = ${SHARDS}`);
    const before = await countRows(client);
    await dropReferences(client);
    for (const table of NUMBERED) await numberBySequence(client, table);
    for (const table of COPIED) await client.query("select create_reference_table($1::regclass)", [table]);
    for (const table of DISTRIBUTED)
      await client.query(
        `select create_distributed_table($1::regclass, 'instrument_id'${table === "quotes" ? "" : ", colocate_with => 'quotes'"})`,
        [table],
      );
    const after = await countRows(client);
    const lost = after.find(({ rows }, place) => rows !== before[place]?.rows);
    if (lost !== undefined)
      throw new Error(`${lost.table} has other rows after the move than before: nothing was moved`);
    for (const table of [...DISTRIBUTED, ...COPIED])
      await client.query("select truncate_local_data_after_distributing_table($1::regclass)", [table]);
  });
}

/** What a move needs to be there. CREATE EXTENSION ends the session where the server does not preload the library. */
async function prepareExtension(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ loaded: boolean; postgres: string }>(
    `select current_setting('citus.shard_count', true) is not null
         and exists (select from pg_available_extensions where name = 'citus') as loaded,
       split_part(current_setting('server_version'), ' ', 1) as postgres`,
  );
  const [{ loaded, postgres } = { loaded: false, postgres: "?" }] = rows;
  if (!loaded) throw refused(`PostgreSQL ${postgres} here has no Citus loaded (shared_preload_libraries)`);
  await client.query("create extension if not exists citus");
  const nodes = await client.query<{ coordinator: boolean; here: boolean; workers: number }>(
    `select exists (select from pg_dist_node where groupid = 0) as coordinator,
       (select groupid = 0 from pg_dist_local_group) as here,
       (select count(*)::int from pg_dist_node where shouldhaveshards and isactive) as workers`,
  );
  const [{ coordinator, here, workers } = { coordinator: false, here: false, workers: 0 }] = nodes.rows;
  if (!here) throw refused("this is a worker: DATABASE_URL has to name the coordinator");
  if (!coordinator)
    throw refused(
      "the nodes do not know the coordinator: `select citus_set_coordinator_host('its address')` tells them",
    );
  if (workers === 0)
    throw refused("no node holds rows: `select citus_add_node('its address', 5432)` adds a worker");
}

function refused(why: string): QuotekeeperError {
  return new QuotekeeperError("DATABASE_REFUSED", why);
}

async function countRows(client: pg.ClientBase): Promise<{ table: string; rows: string }[]> {
  const counts: { table: string; rows: string }[] = [];
  for (const table of [...DISTRIBUTED, ...COPIED]) {
    const { rows } = await client.query<{ n: string }>(`select count(*) as n from ${table}`);
    counts.push({ table, rows: rows[0]?.n ?? "?" });
  }
  return counts;
}

/** A table of the coordinator alone cannot refer to one that all nodes have. Nobody deletes what they referred to. */
async function dropReferences(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select pg_catalog.format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
     from pg_constraint
     where contype = 'f' and confrelid = any ($1::regclass[]) and conrelid <> confrelid and conparentid = 0`,
    [[...COPIED]],
  );
  for (const { statement } of rows) await client.query(statement);
}

async function numberBySequence(client: pg.ClientBase, table: (typeof NUMBERED)[number]): Promise<void> {
  const { rows: names } = await client.query<{ name: string }>(
    "select pg_get_serial_sequence($1, 'id') as name",
    [table],
  );
  const { rows } = await client.query<{ next: string; type: string }>(
    `select greatest(coalesce(max(t.id), 0) + 1, max(n.next)) as next, pg_typeof(max(t.id))::text as type
     from (select last_value + is_called::int as next from ${names[0]?.name}) n left join ${table} t on true`,
  );
  const [{ next, type } = { next: "1", type: "integer" }] = rows;
  await client.query(
    `alter table ${table} alter id drop identity;
     create sequence ${table}_id_seq as ${type} start ${next} owned by ${table}.id;
     alter table ${table} alter id set default nextval('${table}_id_seq')`,
  );
}

/**
 * Brings functions and views to those of this program for Citus. `migrations/repeat/` has the ones of other tiers; the digest of all that
 * are in force stands in a comment.
 */
export async function settleCitus(client: pg.ClientBase): Promise<void> {
  await letReaderIn(client);
  const statements = [LOCK_DUE_BARS, ...CITUS_VIEWS, ...CITUS_ASKED];
  const { rows } = await client.query<{ there: string | null; texts: string }>(
    `select obj_description(to_regprocedure('lock_due_bars(integer)'), 'pg_proc') as there,
       (select string_agg(sha256, ' ' order by name) from schema_texts) as texts`,
  );
  const [{ there, texts } = { there: null, texts: "" }] = rows;
  const digest = createHash("sha256")
    .update(`${statements.join(";")} ${texts}`)
    .digest("hex");
  const comment = `quotekeeper, texts ${digest}`;
  if (there === comment) return;
  await transactionOn(client, async () => {
    for (const statement of statements) await client.query(statement);
    await client.query(`comment on function lock_due_bars(integer) is '${comment}'`);
  });
  for (const name of ON_WORKERS)
    await client.query("select create_distributed_function($1::regprocedure)", [name]);
}

/** Whoever reads as the reader is that on the workers too, where it has to log in; without a password nobody else can do so. */
async function letReaderIn(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ kept_out: boolean; may: boolean }>(
    `select not r.rolcanlogin as kept_out, u.rolcreaterole or u.rolsuper as may
     from pg_roles r, pg_roles u where r.rolname = '${READER}' and u.rolname = current_user`,
  );
  if (rows[0]?.kept_out && rows[0].may) await client.query(`alter role ${READER} login`);
}
