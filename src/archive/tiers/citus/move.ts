/** Moves an archive to Citus, and brings its functions and views to those for Citus. docs/decisions/citus.md */
import { createHash } from "node:crypto";
import type pg from "pg";
import { QuotekeeperError } from "../../../ground/errors.ts";
import { READER } from "../../connect/fixedNames.ts";
import { type Queryable, transactionOn } from "../../connect/transaction.ts";
import { citusTexts } from "./texts.ts";

/** Tables that are cut by `instrument_id`. */
const DISTRIBUTED = ["quotes", "extended_quotes", "session_bars", "intraday_bars"];

/** Small tables of which every node has a copy. */
const COPIED = ["sources", "instruments", "sessions"];

const TABLES = [...DISTRIBUTED, ...COPIED];

/** Those of them whose rows the database numbers. Citus has no identity columns of 32 bits. */
const NUMBERED = ["sources", "instruments"];

/** 12 shards divide evenly among 1, 2, 3, 4, 6 or 12 workers. Each adds a table a month, and a part to every question. */
const SHARDS = 12;

/** Functions that questions call on the workers. */
const ON_WORKERS = [
  "session_of(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz)",
  "bar_beginning(timestamptz, interval, timestamptz, timestamptz, timestamptz, timestamptz)",
  "log_return(numeric, numeric)",
  "five_minutes(timestamptz, timestamptz)",
  "opens_at(smallint, date, timestamptz)",
];

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
    await client.query(`lock table ${TABLES.join(", ")} in access exclusive mode`);
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
    if (after !== before)
      throw new QuotekeeperError(
        "UNEXPECTED",
        `${after} rows are there after the move, and ${before} were: nothing was moved`,
      );
    for (const table of TABLES)
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

async function countRows(client: pg.ClientBase): Promise<string> {
  const counts = TABLES.map((table) => `(select '${table} ' || count(*) from ${table})`);
  const { rows } = await client.query<{ text: string }>(`select ${counts.join(" || ', ' || ")} as text`);
  return rows[0]?.text ?? "no";
}

/** A table of the coordinator alone cannot refer to one that all nodes have. Nobody deletes what they referred to. */
async function dropReferences(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select pg_catalog.format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
     from pg_constraint
     where contype = 'f' and confrelid = any ($1::regclass[]) and conrelid <> confrelid and conparentid = 0`,
    [COPIED],
  );
  for (const { statement } of rows) await client.query(statement);
}

async function numberBySequence(client: pg.ClientBase, table: string): Promise<void> {
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
 * Brings functions and views to those for Citus. The digest of those in force stands in a comment.
 *
 * @param texts of `migrations/repeat/`, which are in force
 */
export async function settleCitus(client: pg.ClientBase, texts: string): Promise<void> {
  await letReaderIn(client);
  const statements = citusTexts(texts);
  const { rows } = await client.query<{ there: string | null }>(
    "select obj_description(to_regprocedure('lock_due_bars(integer)'), 'pg_proc') as there",
  );
  const digest = createHash("sha256")
    .update(`${statements.join(";")} ${texts}`)
    .digest("hex");
  const comment = `quotekeeper, texts ${digest}`;
  if (rows[0]?.there === comment) return;
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
