#!/bin/sh
# Writes the secrets of docker-compose.yml that are not there yet, below secrets/ of the checkout. Overwrites nothing.
set -eu
cd "$(dirname "$0")/.."
# The directory keeps other users out; the files within are read by the users of the containers, who are others.
mkdir -p secrets
chmod 700 secrets

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

write() {
  if [ -e "secrets/$1" ]; then
    echo "secrets/$1 is there already"
  else
    (umask 333 && cat >"secrets/$1")
    echo "wrote secrets/$1"
  fi
}

for name in db_password web_token grafana_admin_password grafana_db_password; do
  random | write "$name"
done
printf 'postgresql://quotekeeper:%s@timescaledb:5432/quotekeeper' "$(cat secrets/db_password)" | write database_url
