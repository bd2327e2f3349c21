/**
 * Where a session looks names up, and what strangers have put there.
 *
 * A path of `public` means: temporary tables, then `pg_catalog`, then `public`. That keeps no stranger out: of functions and operators
 * of one name, whose arguments fit best counts before whose schema comes first, so `public.quote_ident(name)` takes the calls that
 * `pg_catalog.quote_ident(text)` was meant to have. It runs with the rights of its caller. So a session that finds such a thing
 * does nothing more. Casts and types need no such look: a cast takes the owner of one of its types, and of types the schema counts.
 *
 * Temporary tables stay first: Citus (tiers/citus/near.ts) hides the archive's tables by some. Only for functions that have their owner's
 * rights would they have to be last, and there are none.
 */
import type pg from "pg";
import type { Queryable } from "./transaction.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { someNames } from "../../ground/figures.ts";

/** Here every name and operator is qualified: these statements come before a session has its path, and before anything was looked at. */
const IS = "operator(pg_catalog.=)";

/** Whether a role, by its number, has no business in the archive: no superuser, not the database's owner, neither who logged in nor the role of that login. */
export const isStranger = (owner: string): string => `not exists (
    select from pg_catalog.pg_roles r where r.oid ${IS} ${owner} and (r.rolsuper or r.rolname ${IS} session_user or r.rolname ${IS} current_user or r.oid ${IS} (
      select d.datdba from pg_catalog.pg_database d where d.datname ${IS} pg_catalog.current_database())))`;

const isOfExtension = (object: string, catalog: string): string => `exists (
    select from pg_catalog.pg_depend d where d.objid ${IS} ${object} and d.deptype ${IS} 'e'
      and d.classid ${IS} 'pg_catalog.${catalog}'::pg_catalog.regclass)`;

/**
 * `archive`: the schema of the archive, else the one where it would be made, as the login's own path leads to them; and who owns it.
 * `path`: this schema, and TimescaleDB's. `routines`: what can be called there.
 */
const LOOK = `
archive as materialized (
  select coalesce(c.relnamespace, (
           select n.oid from pg_catalog.pg_namespace n where n.nspname ${IS} pg_catalog.current_schema())) as schema, c.relowner as owner
  from (select) one left join pg_catalog.pg_class c on c.oid ${IS} pg_catalog.to_regclass('schema_migrations')
), path as materialized (
  select n.oid, n.nspname::pg_catalog.text as name, n.oid ${IS} a.schema as is_archive
  from archive a join pg_catalog.pg_namespace n on n.oid ${IS} a.schema or a.schema is not null and n.oid ${IS} (
    select e.extnamespace from pg_catalog.pg_extension e where e.extname ${IS} 'timescaledb')
), routines as materialized (
  select p.oid, s.name as schema, p.proname, p.proowner as owner,
         ${isStranger("p.proowner")} and not ${isOfExtension("p.oid", "pg_proc")} as is_strange
  from path s join pg_catalog.pg_proc p on p.pronamespace ${IS} s.oid
)`;

const NAMED = `pg_catalog.format('function %I.%I(%s) of %I', s.schema, s.proname,
    pg_catalog.pg_get_function_identity_arguments(s.oid), pg_catalog.pg_get_userbyid(s.owner))`;

/** Each stranger's function that a call of another one may reach, by its name, and each such operator. */
const IN_THE_WAY = `
  select ${NAMED} from archive a cross join routines s
  where s.is_strange and (
    exists (
      select from pg_catalog.pg_proc p
      where p.proname ${IS} s.proname and p.pronamespace ${IS} 'pg_catalog'::pg_catalog.regnamespace)
    -- The functions of the archive are its owner's, also where somebody else reads it.
    or coalesce(s.owner operator(pg_catalog.<>) a.owner, true) and exists (
      select from routines own where own.proname ${IS} s.proname and (not own.is_strange or own.owner ${IS} a.owner)))
  union all
  select pg_catalog.format('operator %I.%s (%s, %s) of %I', s.name, o.oprname, pg_catalog.format_type(o.oprleft, null),
                           pg_catalog.format_type(o.oprright, null), pg_catalog.pg_get_userbyid(o.oprowner))
  from path s join pg_catalog.pg_operator o on o.oprnamespace ${IS} s.oid
  where ${isStranger("o.oprowner")} and not ${isOfExtension("o.oid", "pg_operator")} and exists (
    select from pg_catalog.pg_operator p
    where p.oprname ${IS} o.oprname and p.oprnamespace ${IS} 'pg_catalog'::pg_catalog.regnamespace)`;

/** Makes settings and the path, unless another server process than the wanted one answers. */
const SETTLE = `
with ${LOOK}
select pg_catalog.count(pg_catalog.set_config(s.name, s.value, false))::int as made,
       array(${IN_THE_WAY}) as strangers
from (
  select s.name, s.value
  from rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) as s (name, value)
  union all
  select 'search_path', coalesce((
    select pg_catalog.string_agg(pg_catalog.quote_ident(p.name), ', ' order by p.is_archive desc) from path p), 'public')
) s
where $3::int is null or pg_catalog.pg_backend_pid() ${IS} $3::int`;

/**
 * Gives a session its settings and its path.
 *
 * @param settings names and values, as of SET
 * @param onlyProcess the server process that has to be the session's; null: any
 * @returns whether it was that process; otherwise nothing was set
 * @throws QuotekeeperError DATABASE_STRANGERS where a call of ours might reach somebody else's function
 */
export async function applySettings(
  client: Queryable,
  settings: Readonly<Record<string, string>>,
  onlyProcess: number | null = null,
): Promise<boolean> {
  const { rows } = await client.query<{ made: number; strangers: string[] }>(SETTLE, [
    Object.keys(settings),
    Object.values(settings),
    onlyProcess,
  ]);
  const [{ made, strangers } = { made: 0, strangers: [] }] = rows;
  if (strangers.length > 0)
    throw new QuotekeeperError(
      "DATABASE_STRANGERS",
      `${someNames(strangers, MOST_NAMED)} would run with the rights of quotekeeper, in place of what quotekeeper calls by that name`,
    );
  return made > 0;
}

/** What else strangers have in the archive's schema or may put there, and what to do, for people; null: nothing. */
export async function readSharedSchema(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ schema: string; open: boolean; strange: string[] }>(
    `with ${LOOK}
     select pg_catalog.quote_ident(p.name) as schema, pg_catalog.has_schema_privilege('public', p.oid, 'create') as open,
            array(select ${NAMED} from routines s, archive a where s.is_strange and coalesce(s.owner operator(pg_catalog.<>) a.owner, true)) as strange
     from path p where p.is_archive`,
  );
  const [found] = rows;
  if (found === undefined) return null;
  const { schema, open, strange } = found;
  const remedies = [
    ...(open
      ? [
          `everybody may create functions in the schema ${schema}: run \`revoke create on schema ${schema} from public\``,
        ]
      : []),
    ...(strange.length > 0
      ? [`the schema ${schema} has ${someNames(strange, MOST_NAMED)}: drop it, or move it to another schema`]
      : []),
  ];
  return remedies.length === 0 ? null : remedies.join("; ");
}

/**
 * Has the functions of the archive look names up where this session does, also where they run in another: that of a job of
 * TimescaleDB, or of a person. Those in SQL that only read are left alone: a function with a path of its own is not inlined
 * (docs/decisions/functions.md). Here, not in a migration: `create or replace function` forgets the path.
 *
 * @param names of the archive's functions
 */
export async function settlePaths(client: pg.ClientBase, names: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select pg_catalog.format('alter routine %s set search_path = %s', oid::regprocedure, path) as statement
     from pg_proc, current_setting('search_path') path
     where pronamespace = to_regnamespace(quote_ident(current_schema()::text)) and proname = any ($1)
       and (provolatile = 'v' or prolang = (select oid from pg_language where lanname = 'plpgsql'))
       and pg_has_role(current_user, proowner, 'usage') and not 'search_path=' || path = any (coalesce(proconfig, '{}'))`,
    [names],
  );
  for (const { statement } of rows) await client.query(statement);
}

const MOST_NAMED = 3;
