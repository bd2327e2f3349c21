-- Whoever may connect may also make temporary tables, and before PostgreSQL 15 tables: the reader reads, and nothing else.
do $$
begin
  if exists (select from pg_database where datname = current_database() and pg_has_role(datdba, 'usage')) then
    execute format('revoke temporary on database %I from public', current_database());
  end if;
  if exists (select from pg_namespace where nspname = current_schema() and pg_has_role(nspowner, 'usage')) then
    execute format('revoke create on schema %I from public', current_schema());
  end if;
end
$$;
