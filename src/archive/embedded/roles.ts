/** The roles of the embedded database, as one transaction of its superuser. */
import { READER, READER_CONNECTIONS } from "../connect/fixedNames.ts";

/** Made by initdb. It has no password, and nothing lets it in: only PostgreSQL without a server runs as it. */
export const SUPERUSER = "quotekeeper_superuser";

/** The role that owns the archive, and the database of that name. It is no superuser. */
export const OWNER = "quotekeeper";

/** The program's own reader: however many connections people's tools take, this one has its own. */
export const VIEWER = "quotekeeper_viewer";

/**
 * What only a superuser can take from the reader, because everybody has it (PUBLIC): all with which a role that may only read
 * could hold others up or fill a disk. docs/databases.md has the same text, for servers of one's own.
 */
const TAKEN_FROM_EVERYBODY = String.raw`do $$
declare
  taken text;
begin
  -- Whatever others have put into public is passed by.
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);
  -- Locks of others, large objects, messages, the log of the server, and the sessions of those with the same role.
  for taken in
    select oid::regprocedure from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace
      and (proname ~ '^(pg_(try_)?advisory_|lo_|lowrite)'
        or proname in ('pg_notify', 'pg_logical_emit_message', 'pg_cancel_backend', 'pg_terminate_backend'))
      and has_function_privilege('public', oid, 'execute')
  loop
    execute format('revoke execute on function %s from public', taken);
    execute format('grant execute on function %s to pg_database_owner', taken);
  end loop;
  -- Loops in which each round takes a transaction's number.
  revoke usage on language plpgsql from public;
  grant usage on language plpgsql to pg_database_owner;
  -- These hold for those who log in as this very role: do the same for a login role that is a member of it.
  if exists (select from pg_roles where rolname = '${READER}') then
    alter role ${READER} connection limit ${READER_CONNECTIONS};
    alter role ${READER} set temp_file_limit = '100MB';
  end if;
end
$$;`;

/** Gives a new cluster its roles and their rights. */
export function rolesSql(passwords: { ownerPassword: string; viewerPassword: string }): string {
  return `
create role ${OWNER} login createrole password '${passwords.ownerPassword}';
create role ${VIEWER} login password '${passwords.viewerPassword}' connection limit 10;
create role ${READER} login;
alter database ${OWNER} owner to ${OWNER};
grant ${READER} to ${VIEWER};
grant ${READER}, ${VIEWER} to ${OWNER} with admin option;
alter default privileges for role ${OWNER} in schema public grant select on tables to ${READER};
revoke temporary on database ${OWNER} from public;
grant execute on function pg_stat_file(text) to ${OWNER};
${TAKEN_FROM_EVERYBODY}`;
}
