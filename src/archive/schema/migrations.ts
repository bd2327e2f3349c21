/**
 * Brings a database to the newest schema, under a lock: tables by numbered files, each once; then functions, views and comments,
 * each file when its text is not the one in force (history.ts). Afterwards the storage is brought to the tier that the server
 * offers (tiers/settleTier.ts); the files are the same for all of them.
 */
import { max, sql } from "drizzle-orm";
import type pg from "pg";
import { type Queryable, transactionOn } from "../connect/transaction.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import type { Instant } from "../../ground/clock.ts";
import type { CalendarOverride } from "../../market/calendar/overrides.ts";
import { settleJit } from "./jit.ts";
import { makeDueBars } from "./makeBars.ts";
import { ensurePartitions } from "./partitions.ts";
import { lockHistory } from "./migrationLock.ts";
import { settleReader } from "./readerRole.ts";
import { type History, type Migration, readHistory, type Script, statementsOf } from "./history.ts";
import { findOccupied, KINDS, MADE_ELSEWHERE, madeBy, namesOf, occupied } from "./occupied.ts";
import { schemaMigrations, schemaTexts } from "./internalSchema.ts";
import { readSharedSchema, settlePaths } from "../connect/searchPath.ts";
import { refreshSessions, settleCalendarDays } from "./sessions.ts";
import { tablesOn, upsertAll } from "./tableRows.ts";
import { oneConnectionEach } from "../tiers/citus/door.ts";
import { isOnCitus } from "../tiers/citus/isOnCitus.ts";
import { settleTier, type StorageWishes } from "../tiers/settleTier.ts";

type MigrationReport = {
  version: number;
  applied: string[];
  /** What a command has to put right in the archive, because no migration can; null: nothing. */
  toRebuild: string | null;
  /** What a person should see to, and how: tools without the role `quotekeeper_reader`, a schema that strangers use too. */
  warnings: string[];
};

/**
 * Brings the database to the newest version. Twenty at once are harmless: all but one wait, then find nothing to do.
 *
 * @param now partitions are made from the month of this time on
 * @param options what the operator wants of the storage besides; `calendar`: what the operator says of single days, null: what was
 *   said last; `files`: another history than the program's
 * @throws QuotekeeperError DATABASE_NEWER, DATABASE_TOO_OLD, MIGRATION_CHANGED, DATABASE_REFUSED (a move to a TimescaleDB that is not
 *   there), DATABASE_OCCUPIED; other errors of the database as they are
 */
export async function migrate(
  pool: pg.Pool,
  now: Instant,
  {
    files,
    calendar = null,
    ...wishes
  }: StorageWishes & { calendar?: readonly CalendarOverride[] | null; files?: History } = {},
): Promise<MigrationReport> {
  const history = files ?? (await readHistory());
  const client = await pool.connect();
  let failed = true;
  let unlock = (): Promise<void> => Promise.resolve();
  try {
    await prepareHistory(client, history);
    unlock = await lockHistory(pool);
    const applied = await appliedVersions(client);
    const pending = pendingOf(history, applied);
    const texts = await appliedTexts(client);
    const changed = history.repeated.filter(({ name, sha256 }) => texts.get(name) !== sha256);
    await requireFreeNames(client, history, pending);
    for (const file of pending) await applyOne(client, file);
    if (changed.length > 0) await transactionOn(client, () => applyTexts(client, changed));
    await settleTier(client, wishes, history.repeated.map((text) => text.sql).join("\n"));
    await settlePaths(client, namesOf([...history.repeated.flatMap(madeBy), ...MADE_ELSEWHERE], "function"));
    if (calendar !== null) await transactionOn(client, () => settleCalendarDays(client, calendar));
    // Before the partitions, which would write the sessions of their years first, and so twice.
    await refreshSessions(client, Number(now.slice(0, 4)));
    await ensurePartitions(client, now, now);
    await makeDueBars(client);
    const told = [await settleReader(client), await settleJit(client), await readSharedSchema(client)];
    const warnings = told.filter((warning) => warning !== null);
    failed = false;
    return {
      version: newestOf(history),
      applied: [...pending, ...changed].map(({ name }) => name),
      toRebuild: await readToRebuild(client),
      warnings,
    };
  } finally {
    await unlock();
    // A session keeps the settings it began with, such as being read only: what failed is tried on a new one.
    client.release(failed);
  }
}

/** The migration since which class shares, sizes and greeks of Tradier are read as they are now. */
const CLASS_SHARES = 36;

const TO_REBUILD =
  "Rows of Tradier from before this version have sizes of stocks that are a hundred times too large, and theta and rho of puts that are the call's. `quotekeeper backfill --journal --rebuild` puts them right (docs/upgrade.md).";

const STILL_TWO =
  "The archive has class shares twice, as BRK/B and as BRK.B: neither on Citus nor in the lake does a quote move to another instrument. `quotekeeper lake restore` of all dates, then `quotekeeper backfill --journal --rebuild` makes them one, and puts right sizes and greeks of Tradier (docs/upgrade.md).";

/** Null: the archive has no such rows, or a whole rebuild was done since. */
async function readToRebuild(client: pg.PoolClient): Promise<string | null> {
  const { rows } = await client.query<{ two: boolean; before: boolean }>(
    `select exists (select from instruments where symbol ~ '^[^/]+/[A-Za-z]$') as two,
       -- Else the archive is as new as that, and its rows are from a journal.
       exists (select from schema_migrations where applied_at < m.applied_at - interval '1 hour') and exists (
         select from responses r join sources s on s.id = r.source_id
         where s.name = 'tradier' and r.observed_at < m.applied_at
       ) as before
     from schema_migrations m
     where m.version = $1
       and not exists (
         select from backfills b
         where b.kind = 'journal' and b.asked ->> 'rebuild' = 'true' and b.asked ->> 'from' is null and b.asked ->> 'to' is null
           and b.started_at > m.applied_at and b.finished_at is not null
       )`,
    [CLASS_SHARES],
  );
  const [{ two, before } = { two: false, before: false }] = rows;
  return two ? STILL_TWO : before ? TO_REBUILD : null;
}

/**
 * The version a database is at; 0 when it was never migrated and can be. Changes nothing.
 *
 * @throws QuotekeeperError DATABASE_OCCUPIED; other errors of the database as they are
 */
export async function currentVersion(pool: pg.Pool): Promise<number> {
  const version = (await hasHistory(pool)) ? await newestApplied(pool) : 0;
  if (version > 0) return version;
  const { migrations, repeated } = await readHistory();
  const problem = await findOccupied(pool, { pending: [...migrations, ...repeated].flatMap(madeBy) });
  if (problem !== null) throw problem;
  return 0;
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
 * @throws QuotekeeperError DATABASE_OCCUPIED when it is another program's
 */
async function hasHistory(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ kind: string; ours: boolean }>(
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
async function prepareHistory(client: pg.PoolClient, history: History): Promise<void> {
  if (await hasHistory(client)) return;
  try {
    await requireFreeNames(client, history, history.migrations);
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
 * What the files make that an archive has had is ours, unless it is a stranger's; so are functions and views, which every archive has.
 *
 * @param pending the migrations to come; the baseline among them: there is no archive yet
 */
async function requireFreeNames(
  client: pg.PoolClient,
  { migrations, repeated }: History,
  pending: readonly Migration[],
): Promise<void> {
  const [baseline] = migrations;
  const problem = await findOccupied(
    client,
    baseline !== undefined && pending.includes(baseline)
      ? { pending: [...pending, ...repeated].flatMap(madeBy) }
      : { pending: pending.flatMap(madeBy), applied: haveMade({ migrations, repeated }, pending) },
  );
  if (problem !== null) throw problem;
}

/** What an archive has of the files. The baseline names what `earlier/` has yet to make, too. */
function haveMade(
  { migrations, repeated }: Pick<History, "migrations" | "repeated">,
  pending: readonly Migration[],
): ReturnType<typeof madeBy> {
  const coming = new Set(pending.flatMap(madeBy).map(({ name }) => name));
  const tables = migrations.filter((one) => !pending.includes(one)).flatMap(madeBy);
  return [...tables.filter(({ name }) => !coming.has(name)), ...repeated.flatMap(madeBy)];
}

function newestOf({ migrations }: History): number {
  return migrations.at(-1)?.version ?? 0;
}

/** The files that a database still needs, in order. Throws DATABASE_NEWER, DATABASE_TOO_OLD, MIGRATION_CHANGED. */
function pendingOf(history: History, applied: ReadonlyMap<number, string>): Migration[] {
  const { migrations, earlier } = history;
  const at = Math.max(0, ...applied.keys());
  if (at > newestOf(history)) {
    throw new QuotekeeperError(
      "DATABASE_NEWER",
      `the database is at schema version ${at}, this program knows ${newestOf(history)}`,
    );
  }
  const [baseline, ...later] = migrations;
  if (baseline === undefined || at === 0) return [...migrations];
  for (const { version, name, sha256, formerly = [] } of later) {
    const kept = applied.get(version);
    if (kept !== undefined && kept !== sha256 && !formerly.includes(kept)) {
      throw new QuotekeeperError(
        "MIGRATION_CHANGED",
        `${name} differs from the file that this database was migrated with`,
      );
    }
  }
  const oldest = (earlier[0] ?? baseline).version - 1;
  if (at < oldest) {
    throw new QuotekeeperError(
      "DATABASE_TOO_OLD",
      `the database is at schema version ${at}, this program takes over databases from version ${oldest} on`,
    );
  }
  return [...earlier, ...later].filter(({ version }) => version > at);
}

async function applyOne(client: pg.PoolClient, migration: Migration): Promise<void> {
  const { version, name, sql: text, sha256 } = migration;
  // Citus hands a statement on with all that came in one message with it.
  const pieces = (await isOnCitus(client)) ? statementsOf(migration) : [text];
  await transactionOn(client, async () => {
    await oneConnectionEach(client);
    for (const piece of pieces) await client.query(piece);
    await tablesOn(client)
      .insert(schemaMigrations)
      .values({ version, name, sha256, appliedAt: sql`now()` });
  });
}

const TEXTS = `create table if not exists schema_texts (
  name       text primary key,
  sha256     text not null,
  applied_at timestamptz not null default now()
)`;

async function appliedTexts(client: pg.PoolClient): Promise<Map<string, string>> {
  const there = await client.query("select where to_regclass('schema_texts') is not null");
  if (there.rowCount === 0) return new Map();
  const rows = await tablesOn(client).select().from(schemaTexts);
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]));
}

async function applyTexts(client: pg.PoolClient, texts: readonly Script[]): Promise<void> {
  await client.query(TEXTS);
  // A function may call one that comes later.
  await client.query("set local check_function_bodies = off");
  for (const { name, sql: text, sha256 } of texts) {
    await client.query(text);
    await upsertAll(client, schemaTexts, [{ name, sha256, appliedAt: "now" }]);
  }
}
