/**
 * The role `quotekeeper_reader`, with which people's tools and the dashboard read the archive. Migrations make it where the
 * database's user may make roles. Where it was made later, by somebody else, it gets its rights here.
 */
import type pg from "pg";
import { createPool } from "../connect/connect.ts";
import { READER, READER_CONNECTIONS } from "../connect/fixedNames.ts";
import type { Queryable } from "../connect/transaction.ts";

/** 42501 insufficient_privilege, 42710 duplicate_object and 23505 unique_violation: made at the same moment elsewhere. */
const NOT_OURS_TO_MAKE = "42501";
const MADE_MEANWHILE = new Set(["42710", "23505"]);

/** What a session's user may do. `owner`: as whom it logged in. */
type Standing = { owner: string; there: boolean; assumable: boolean; writes: boolean };

/** How long a statement or a transaction of a reader may last, in ms. */
const LONGEST_READ_MS = 30_000;

/**
 * What a session of the reader begins with. It may set what it likes afterwards, for itself and for those to come; so
 * these are for those who mean well, and `endReaders` is for the others.
 */
const READER_SETTINGS = [
  "default_transaction_read_only=on",
  `statement_timeout=${LONGEST_READ_MS}`,
  `idle_in_transaction_session_timeout=${LONGEST_READ_MS}`,
];

/**
 * Ends the sessions of readers (members of the role, the role itself) that hold up anybody else, and those whose
 * transaction lasts too long: an open one keeps dead rows from being removed. Of whom this session's user may not end,
 * none: see docs/databases.md.
 *
 * @returns how many
 */
export async function endReaders(db: Queryable, longestMs: number = LONGEST_READ_MS): Promise<number> {
  // Within a transaction the list of sessions stays as it was first seen.
  await db.query("select pg_stat_clear_snapshot()");
  const { rowCount } = await db.query(
    `with sessions as materialized (
       select a.pid, a.xact_start, a.wait_event_type,
              coalesce(not r.rolsuper and r.rolname <> session_user
                and pg_has_role(r.oid, reader.oid, 'member'), false) as reads,
              pg_has_role(r.oid, 'usage') or pg_has_role('pg_signal_backend', 'usage') as ours_to_end
       from pg_stat_activity a
       left join pg_roles r on r.oid = a.usesysid
       left join pg_roles reader on reader.rolname = '${READER}'
     ), blocking as materialized (
       select unnest(pg_blocking_pids(pid)) as pid from sessions where wait_event_type = 'Lock' and not reads
     )
     select pg_terminate_backend(pid) from sessions
     where reads and ours_to_end
       and (pid in (select pid from blocking) or xact_start < clock_timestamp() - $1 * interval '1 ms')`,
    [longestMs],
  );
  return rowCount ?? 0;
}

/** Repeats `work`, one call at a time: on a slow server one may outlast the interval. @returns stops it */
export function watching(work: () => Promise<unknown>, everyMs: number): () => void {
  let idle = true;
  const timer = setInterval(() => {
    if (!idle) return;
    idle = false;
    // A database that is away is the business of those who need it.
    void work()
      .catch(() => undefined)
      .finally(() => (idle = true));
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Resets the role's settings if it has set others. @param client may alter the role, and is on its database */
export async function settleReaderSettings(client: Queryable): Promise<void> {
  const { rowCount } = await client.query(
    `select from (
       select setdatabase, unnest(setconfig) as setting from pg_db_role_setting where setrole = to_regrole('${READER}')
     ) s
     having bool_and(setdatabase = 0)
       and array_agg(setting order by setting) filter (where setting not like 'temp_file_limit=%') = $1`,
    [[...READER_SETTINGS].sort()],
  );
  if (rowCount !== 0) return;
  await client.query(
    [
      `alter role ${READER} reset all`,
      `alter role ${READER} in database quotekeeper reset all`,
      ...givenSettings(),
    ].join("; "),
  );
}

/**
 * A pool for whoever only reads: the dashboard, `serve`. Its sessions cannot write, and each takes the reader's role where
 * its user may, so that it has no other rights either. What logs in as the owner could still take the owner's rights
 * back, with a statement that somebody smuggled in; what logs in as a reader has none to take.
 *
 * @param url how a reader logs in where that is known, else how the owner does
 * @param options as `createPool` has them
 */
export function createReaderPool(
  url: string,
  options: Omit<Parameters<typeof createPool>[1] & object, "readOnly" | "settle"> = {},
): pg.Pool {
  return createPool(url, { ...options, readOnly: true, settle: assumeReader });
}

/** A role that is not there, may not be taken or cannot read this archive yet leaves the session as it is. */
async function assumeReader(client: pg.ClientBase): Promise<void> {
  const { assumable } = await readStanding(client);
  if (assumable) await client.query(`set role ${READER}`);
}

/** What the session's user may do, whatever role the session has taken. */
async function readStanding(client: Queryable): Promise<Standing> {
  // An archive that is not there yet comes with the reader's rights. The word `set` is known since PostgreSQL 16.
  const { rows } = await client.query<Standing>(
    `select quote_ident(session_user::text) as owner, r.oid is not null as there,
            coalesce(pg_has_role(session_user, r.oid, case when current_setting('server_version_num')::int < 160000
                                                           then 'member' else 'set' end)
                     and (sources is null or has_table_privilege(r.oid, sources, 'select')), false) as assumable,
            coalesce(has_table_privilege(session_user, sources, 'insert'), false) as writes
     from (select to_regclass('sources') as sources) archive left join pg_roles r on r.rolname = '${READER}'`,
  );
  return rows[0] ?? { owner: "?", there: false, assumable: false, writes: false };
}

/**
 * Makes the role if that is allowed, lets it read what the user of this session owns, and lets this user take it.
 *
 * @param client holds the migration lock
 * @returns null when the role can read the archive, else why there is none and what to do
 */
export async function settleReader(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ role: string; may_make: boolean }>(
    "select quote_ident(rolname::text) as role, rolcreaterole or rolsuper as may_make from pg_roles where rolname = current_user",
  );
  const { role, may_make: mayMake } = rows[0] ?? { role: "?", may_make: false };
  const { there, owner } = await readStanding(client);
  if (!there && !(mayMake && (await makeReader(client)))) return without(role, owner);
  await grantReading(client);
  await limitReader(client);
  return null;
}

/**
 * What keeps a reader within its bounds, as far as this session's user may do it: the right to end its sessions; the settings
 * it begins with, while nobody has given the role any; no tables, temporary ones included, which everybody may make who may
 * connect. docs/databases.md has what only a superuser may do.
 */
async function limitReader(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ statements: string[] }>(
    `select array_remove(array[
       case when not pg_has_role(oid, 'usage') then '${grant("current_user")}' end,
       case when rolconnlimit = -1 and not exists (select from pg_db_role_setting where setrole = oid) then $1 end,
       case when has_database_privilege(oid, current_database(), 'temporary')
         then pg_catalog.format('revoke temporary on database %I from public', current_database()) end,
       case when has_schema_privilege(oid, current_schema(), 'create')
         then pg_catalog.format('revoke create on schema %I from public', current_schema()) end
     ], null) as statements
     from pg_roles where rolname = '${READER}'`,
    [[`alter role ${READER} connection limit ${READER_CONNECTIONS}`, ...givenSettings()].join("; ")],
  );
  // Where the role, the database or the schema are somebody else's, this is that person's to do.
  for (const statement of rows[0]?.statements ?? []) await client.query(statement).catch(() => undefined);
}

function givenSettings(): string[] {
  return READER_SETTINGS.map((setting) => `alter role ${READER} set ${setting.replace("=", " = ")}`);
}

/** What `status` and the dashboard say of it; null when whoever asks can take the role, or can only read without it. */
export async function readWithoutReader(pool: Queryable): Promise<string | null> {
  const { owner, there, assumable, writes } = await readStanding(pool);
  if (!there) return `no role ${READER}: ${remedy(owner)}`;
  if (assumable || !writes) return null;
  return `the dashboard reads with all rights of ${owner}: have an administrator run \`${grant(owner)}\`, or set DATABASE_READER_URL`;
}

const grant = (owner: string): string => `grant ${READER} to ${owner}`;

const remedy = (owner: string): string =>
  `have an administrator run \`create role ${READER}; ${grant(owner)}\`, then run \`quotekeeper migrate\``;

function without(role: string, owner: string): string {
  return `There is no role ${READER} for people's tools and the dashboard, for ${role} may not make roles: ${remedy(owner)}. All works without it, the dashboard with all rights of ${owner}.`;
}

async function makeReader(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query(`create role ${READER}`);
    return true;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (MADE_MEANWHILE.has(code)) return true;
    if (code !== NOT_OURS_TO_MAKE) throw error;
    return false;
  }
}

/** Once, when it can read nothing yet: what an operator took from it later stays taken. */
async function grantReading(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ schema: string; relations: string | null }>(
    `select quote_ident(current_schema()::text) as schema, string_agg(oid::regclass::text, ', ') as relations
     from pg_class
     where relnamespace = to_regnamespace(quote_ident(current_schema()::text)) and relkind in ('r', 'p', 'v', 'm')
       and pg_has_role(current_user, relowner, 'usage')
       and not has_table_privilege('${READER}', 'sources', 'select')`,
  );
  const [{ schema, relations } = { schema: "public", relations: null }] = rows;
  if (relations === null) return;
  await client.query(
    `grant usage on schema ${schema} to ${READER};
     grant select on ${relations} to ${READER};
     alter default privileges in schema ${schema} grant select on tables to ${READER}`,
  );
}
