#!/bin/sh
# Runs once, when the database is made: a role that reads the archive and nothing else, for Grafana to log in with.
# quotekeeper's first migration gives quotekeeper_reader its rights; a name that is there already is taken as it is.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 <<'SQL'
-- Read by psql itself: an argument would be in the list of processes.
\set password `cat /run/secrets/grafana_db_password`
create role quotekeeper_reader;
create role quotekeeper_grafana login password :'password' in role quotekeeper_reader;
alter role quotekeeper_grafana set default_transaction_read_only = on;
alter role quotekeeper_grafana set statement_timeout = '30s';
-- Where the server has LLVM, compiling a view's query takes far longer than answering it.
alter role quotekeeper_grafana set jit = off;
SQL
