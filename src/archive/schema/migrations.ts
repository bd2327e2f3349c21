/**
 * The schema's history: numbered SQL files, applied once each, in order, under a lock. A file that was
 * applied is never edited: its SHA-256 is kept with it in the database. Afterwards the storage is brought to the tier
 * that the server offers (tiers/tier.ts); the history is the same for all of them.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { max, sql } from "drizzle-orm";
import type pg from "pg";
import { transactionOn } from "../connect/transaction.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Instant } from "../../clock.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { PACKAGE_ROOT } from "../../packageRoot.ts";
import { connectBeside } from "../connect/connect.ts";
import { ensurePartitions } from "./partitions.ts";
import { endReaders, settleReader, watching } from "./readerRole.ts";
import { schemaMigrations } from "./schema.ts";
import { isStranger, readSharedSchema, settlePaths } from "../connect/searchPath.ts";
import { refreshSessions, settleCalendarDays } from "./sessions.ts";
import { tablesOn } from "./tableRows.ts";
import { settleTier, type StorageWishes } from "../tiers/tier.ts";
import { DatabaseProblem } from "../connect/databaseError.ts";

/** One file of the history. */
type Migration = { version: number; name: string; sql: string; sha256: string };

/** What a run did. */
type MigrationReport = {
  version: number;
  applied: string[];
  /** What a person should see to, and how: tools without the role `quotekeeper_reader`, a schema that strangers use too. */
  warnings: string[];
};

/** How often readers that hold a migration up are ended: sooner than the server looks for deadlocks (1 s). */
const END_READERS_EVERY_MS = 500;

/** The files that ship with the program. */
export const MIGRATIONS_DIR = join(PACKAGE_ROOT, "migrations");

/** Reads `NNNN_name.sql` files, ascending. */
export async function readMigrations(dir: string = MIGRATIONS_DIR): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(`${dir}/${name}`, "utf8");
      return {
        version: Number(name.slice(0, 4)),
        name,
        sql,
        sha256: createHash("sha256").update(sql).digest("hex"),
      };
    }),
  );
}

/** SHA-256 of earlier texts, never released, which did the same wherever they did not fail. */
const FORMER: ReadonlySet<string> = new Set([
  // 0025_assumed_types.sql, which ended with 21000 where an instrument had two series on one date.
  "e8b4ff2ba215532952c0aecabee5b0638c52ab523c5c2a895f6e60d47ac85b2f",
]);

/**
 * Brings the database to the newest version. Twenty at once are harmless: all but one wait, then find nothing to do.
 *
 * @param now partitions are made from the month of this time on
 * @param options what the operator wants of the storage besides; `calendar`: what the operator says of single days, null: what was
 *   said last; `files`: another history than the program's
 * @throws QuotekeeperError DATABASE_NEWER, MIGRATION_CHANGED, DATABASE_REFUSED (a move to a TimescaleDB that is not
 *   there); DatabaseProblem when its names are taken; other errors of the database as they are
 */
export async function migrate(
  pool: pg.Pool,
  now: Instant,
  {
    files: given,
    calendar = null,
    ...wishes
  }: StorageWishes & { calendar?: readonly CalendarOverride[] | null; files?: Migration[] } = {},
): Promise<MigrationReport> {
  const files = given ?? (await readMigrations());
  const client = await pool.connect();
  let failed = true;
  let unlock = (): Promise<void> => Promise.resolve();
  try {
    await prepareHistory(client, files);
    unlock = await lockHistory(pool);
    const applied = await appliedVersions(client);
    checkHistory(files, applied);
    const pending = files.filter(({ version }) => !applied.has(version));
    await requireFreeNames(client, files, applied);
    for (const file of pending) await applyOne(client, file);
    await settleTier(client, wishes);
    await settlePaths(client, namesOf([...files.flatMap(madeBy), ...MADE_ELSEWHERE], "function"));
    if (calendar !== null) await transactionOn(client, () => settleCalendarDays(client, calendar));
    // Before the partitions, which would write the sessions of their years first, and so twice.
    await refreshSessions(client, Number(now.slice(0, 4)));
    await ensurePartitions(client, now, now);
    const warnings = [await settleReader(client), await readSharedSchema(client)].filter(
      (warning) => warning !== null,
    );
    failed = false;
    return { version: files.at(-1)?.version ?? 0, applied: pending.map(({ name }) => name), warnings };
  } finally {
    await unlock();
    // A session keeps the settings it began with, such as being read only: what failed is tried on a new one.
    client.release(failed);
  }
}

/**
 * The version a database is at; 0 when it was never migrated and can be. Changes nothing.
 *
 * @throws DatabaseProblem DATABASE_OCCUPIED; other errors of the database as they are
 */
export async function currentVersion(pool: pg.Pool): Promise<number> {
  const version = (await hasHistory(pool)) ? await newestApplied(pool) : 0;
  if (version > 0) return version;
  const problem = await findOccupied(pool, { pending: await readMigrations() });
  if (problem !== null) throw problem;
  return 0;
}

/** The version that this program brings a database to. */
export async function newestVersion(): Promise<number> {
  return (await readMigrations()).at(-1)?.version ?? 0;
}

async function newestApplied(pool: pg.Pool): Promise<number> {
  const [newest] = await tablesOn(pool)
    .select({ version: max(schemaMigrations.version) })
    .from(schemaMigrations);
  return newest?.version ?? 0;
}

/**
 * Whether there is a history of migrations. Other programs call theirs `schema_migrations` too, without our columns. It is a
 * table: what a view has in it, or a policy of rows, would run with our rights.
 *
 * @throws DatabaseProblem DATABASE_OCCUPIED when it is another program's
 */
async function hasHistory(db: Pick<pg.ClientBase, "query"> | pg.Pool): Promise<boolean> {
  const { rows } = await (db as Pick<pg.ClientBase, "query">).query<{ kind: string; ours: boolean }>(
    `select ${KINDS} as kind, relkind = 'r' and not relrowsecurity and (
              select count(*) from pg_attribute where attrelid = c.oid and attname in ('version', 'name', 'sha256')) = 3 as ours
     from pg_class c where oid = to_regclass('schema_migrations')`,
  );
  const [found] = rows;
  if (found?.ours === false) throw occupied([`${found.kind} called schema_migrations`]);
  return found !== undefined;
}

async function appliedVersions(client: pg.PoolClient): Promise<Map<number, string>> {
  if (!(await hasHistory(client))) return new Map();
  const { version, sha256 } = schemaMigrations;
  const rows = await tablesOn(client).select({ version, sha256 }).from(schemaMigrations);
  return new Map(rows.map(({ version, sha256 }) => [version, sha256]));
}

/** Makes the table of the history. Before it, room for everything is looked for: another program's database gets nothing. */
async function prepareHistory(client: pg.PoolClient, files: readonly Migration[]): Promise<void> {
  if (await hasHistory(client)) return;
  try {
    await requireFreeNames(client, files, new Map());
  } catch (error) {
    // Another program of ours is at it: what is there is its work.
    if (await hasHistory(client)) return;
    throw error;
  }
  await client
    .query(
      `create table if not exists schema_migrations (
        version    integer primary key,
        name       text not null,
        sha256     text not null,
        applied_at timestamptz not null default now()
      )`,
    )
    .catch(async (error: unknown) => {
      // Made at the same moment elsewhere: PostgreSQL has several words for that.
      if (!(await hasHistory(client))) throw error;
    });
}

/**
 * Takes the history for ourselves, on a connection of its own, for a migration has many transactions. Anybody who may
 * connect can take an advisory lock; nobody without rights to a table can keep SHARE UPDATE EXCLUSIVE of it from us. Not even
 * by a statement that is only prepared, which takes ROW EXCLUSIVE before any right is looked at. It is a table of its own: were
 * it the history, somebody's ALTER of that would wait for this lock, and we, on another connection, for the ALTER.
 *
 * @returns gives it up
 */
async function lockHistory(pool: pg.Pool): Promise<() => Promise<void>> {
  const keeper = await connectBeside(pool);
  try {
    await keeper.query("create table if not exists migration_lock ()").catch(async (error: unknown) => {
      // Made at the same moment elsewhere.
      const { rows } = await keeper.query<{ there: string | null }>(
        "select to_regclass('migration_lock') as there",
      );
      if ((rows[0]?.there ?? null) === null) throw error;
    });
    // No migration can say it: it would wait for the lock.
    await keeper.query(
      `do $$ begin
         if exists (
           select from pg_class where oid = 'migration_lock'::regclass and obj_description(oid, 'pg_class') is null
             and pg_has_role(relowner, 'usage')
         ) then
           comment on table migration_lock is
             'Internal: a table without columns. quotekeeper migrate locks it, so that one migration runs at a time.';
         end if;
       end $$`,
    );
    await keeper.query("begin");
    await keeper.query("lock table migration_lock in share update exclusive mode");
  } catch (error) {
    await keeper.end().catch(() => undefined);
    throw error;
  }
  const unwatch = watching(() => endReaders(keeper), END_READERS_EVERY_MS);
  return async () => {
    unwatch();
    await keeper.end().catch(() => undefined);
  };
}

async function requireFreeNames(
  client: pg.PoolClient,
  files: readonly Migration[],
  applied: ReadonlyMap<number, string>,
): Promise<void> {
  const problem = await findOccupied(client, {
    pending: files.filter(({ version }) => !applied.has(version)),
    applied: files.filter(({ version }) => applied.has(version)),
  });
  if (problem !== null) throw problem;
}

function checkHistory(files: Migration[], applied: ReadonlyMap<number, string>): void {
  const newest = files.at(-1)?.version ?? 0;
  const unknown = Math.max(0, ...applied.keys());
  if (unknown > newest) {
    throw new QuotekeeperError(
      "DATABASE_NEWER",
      `the database is at schema version ${unknown}, this program knows ${newest}`,
    );
  }
  for (const { version, name, sha256 } of files) {
    const kept = applied.get(version);
    if (kept !== undefined && kept !== sha256 && !FORMER.has(kept)) {
      throw new QuotekeeperError(
        "MIGRATION_CHANGED",
        `${name} differs from the file that this database was migrated with`,
      );
    }
  }
}

async function applyOne(
  client: pg.PoolClient,
  { version, name, sql: text, sha256 }: Migration,
): Promise<void> {
  await transactionOn(client, async () => {
    await client.query(text);
    await tablesOn(client)
      .insert(schemaMigrations)
      .values({ version, name, sha256, appliedAt: sql`now()` });
  });
}

// What stands in a database under the names that the archive needs, and is not quotekeeper's.

type Queryable = Pick<pg.ClientBase, "query">;

/** What a migration makes: tables and views, whose names are those of types as well, types, indexes and functions, also by renaming. */
const MADE =
  /^(?:create (?:unique )?|alter (?=.* rename to))(table|view|type|index|function) (?:.* rename to )?(\w+)/gm;

/** What this file and the tiers make. */
const MADE_ELSEWHERE: readonly Made[] = [
  ...["schema_migrations", "migration_lock"].map((name) => ({ kind: "table", name })),
  ...["admit_quotes", "drop_old_quotes", "follow_rows"].map((name) => ({ kind: "function", name })),
  { kind: "type", name: "dictionary_numeric" },
];

const KINDS = `case relkind when 'v' then 'a view' when 'm' then 'a materialized view' when 'f' then 'a foreign table'
  when 'S' then 'a sequence' when 'c' then 'a type' when 'i' then 'an index' when 'I' then 'an index' else 'a table' end`;

/** Things in the way are listed up to this many. */
const MOST_THINGS = 3;

type Script = { sql: string };

type Made = { kind: string; name: string };

/**
 * Looks whether the names that migrations need are free. What those that were applied have made is ours, and may be
 * made anew, unless it is a stranger's: replaced by us, a function would stay its owner's, who could change it again.
 *
 * @returns null when they are free
 */
async function findOccupied(
  db: Queryable | pg.Pool,
  { pending, applied = [] }: { pending: readonly Script[]; applied?: readonly Script[] },
): Promise<DatabaseProblem | null> {
  const ours = [...applied.flatMap(madeBy), ...MADE_ELSEWHERE];
  const known = new Set(ours.map(({ name }) => name));
  const needed = pending.flatMap(madeBy).filter(({ name }) => !known.has(name));
  const { rows } = await (db as Queryable).query<{ kind: string; name: string }>(
    `select kind, quote_ident(name) as name
     from (
       select 'relation' as space, ${KINDS} as kind, relname::text as name, relowner as owner
       from pg_class where relnamespace = to_regnamespace(quote_ident(current_schema()::text))
       union all
       select 'type', 'a type', typname::text, typowner
       from pg_type where typnamespace = to_regnamespace(quote_ident(current_schema()::text)) and typrelid = 0
       union all
       select 'function', 'a function', proname::text, proowner
       from pg_proc where pronamespace = to_regnamespace(quote_ident(current_schema()::text))
     ) there
     where space || ' ' || name = any ($1) or space || ' ' || name = any ($2) and ${isStranger("owner")}
       -- Of an archive that is there, whoever has made it is none.
       and not ($3 and owner = (select relowner from pg_class where oid = to_regclass('schema_migrations')))
     order by 2`,
    [spaced(needed), spaced(ours), applied.length > 0],
  );
  return rows.length === 0 ? null : occupied(rows.map(({ kind, name }) => `${kind} called ${name}`));
}

/** Names with what their like share them with: `relation quotes`. */
function spaced(made: readonly Made[]): string[] {
  return [
    ...namesOf(made, "table", "view", "index", "type").map((name) => `relation ${name}`),
    ...namesOf(made, "table", "view", "type").map((name) => `type ${name}`),
    ...namesOf(made, "function").map((name) => `function ${name}`),
  ];
}

function namesOf(made: readonly Made[], ...kinds: string[]): string[] {
  return made.flatMap(({ kind, name }) => (kinds.includes(kind) ? [name] : []));
}

function madeBy({ sql }: Script): Made[] {
  return [...sql.matchAll(MADE)].map(([, kind = "", name = ""]) => ({ kind, name }));
}

/** @param things each with its kind and name: `a table called quotes` */
function occupied(things: readonly string[]): DatabaseProblem {
  const rest = things.length > MOST_THINGS ? ` and ${things.length - MOST_THINGS} more` : "";
  const are = things.length === 1 ? "is" : "are";
  return new DatabaseProblem(
    "DATABASE_OCCUPIED",
    `${things.slice(0, MOST_THINGS).join(", ")}${rest} that ${are} not quotekeeper's ${are} in the way`,
  );
}
