-- What only a superuser can take from quotekeeper_reader, because PUBLIC has it: all with which a role that may only read
-- could hold others up or fill a disk. The embedded database has had it done. On a server of one's own, once:
-- psql --dbname quotekeeper --file superuser.sql
do $$
declare
  taken text;
begin
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
  if exists (select from pg_roles where rolname = 'quotekeeper_reader') then
    alter role quotekeeper_reader connection limit 10;
    alter role quotekeeper_reader set temp_file_limit = '100MB';
  end if;
end
$$;
