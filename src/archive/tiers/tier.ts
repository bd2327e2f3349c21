/**
 * The four storage tiers. Tables, columns and views have the same names in each; what differs is how rows are laid
 * out. The database itself says which one it is, nothing is configured.
 */
import type { Queryable } from "../connect/transaction.ts";
import { readCitus } from "./citus/door.ts";
import { counted } from "../../ground/figures.ts";

/** `plain`: native range partitions; `apache`: hypertables; `community`: also compression and aggregates; `citus`: cut over nodes. */
type TierName = "plain" | "apache" | "community" | "citus";

export type Tier = {
  name: TierName;
  postgres: string;
  /** Version of TimescaleDB in this database; null on a tier without it. */
  timescaledb: string | null;
  /** Version of Citus, and how many nodes hold rows; null on a tier without it. */
  citus: { version: string; workers: number } | null;
  /** The tables are plain, and the server has TimescaleDB loaded: `quotekeeper migrate --to-timescaledb` is possible. */
  canMove: boolean;
};

/**
 * Reads what the catalog says; changes nothing. A database that was never migrated is plain, movable where the server
 * allows it.
 */
export async function readTier(db: Queryable): Promise<Tier> {
  // A setting of TimescaleDB's loader is known only where the server preloads it; without that, CREATE EXTENSION
  // would end the session.
  const { rows } = await db.query<{
    postgres: string;
    installed: string | null;
    loaded: boolean;
    license: string | null;
    hypertables: boolean;
  }>(
    `select split_part(current_setting('server_version'), ' ', 1) as postgres,
            (select extversion from pg_extension where extname = 'timescaledb') as installed,
            current_setting('timescaledb.disable_load', true) is not null
              and exists (select from pg_available_extensions where name = 'timescaledb') as loaded,
            current_setting('timescaledb.license', true) as license,
            coalesce((select relkind = 'r' from pg_class where oid = to_regclass('quotes')), false) as hypertables`,
  );
  const [{ postgres, installed, loaded, license, hypertables } = unknownServer] = rows;
  const { version, workers, holds } = await readCitus(db);
  if (version !== null && holds)
    return { name: "citus", postgres, timescaledb: null, citus: { version, workers }, canMove: false };
  if (!hypertables || installed === null)
    return { name: "plain", postgres, timescaledb: null, citus: null, canMove: loaded };
  const name = license === "timescale" ? "community" : "apache";
  return { name, postgres, timescaledb: installed, citus: null, canMove: false };
}

const unknownServer = { postgres: "?", installed: null, loaded: false, license: null, hypertables: false };

/** The tier in words, for people: `PostgreSQL 18.4` or `TimescaleDB 2.24.1 Community on PostgreSQL 15.18`. */
export function describeTier({ name, postgres, timescaledb, citus, canMove }: Tier): string {
  if (citus !== null)
    return `Citus ${citus.version} on PostgreSQL ${postgres}, ${counted(citus.workers, "node holds", "nodes hold")} the quotes`;
  if (name !== "plain")
    return `TimescaleDB ${timescaledb} ${name === "apache" ? "Apache" : "Community"} on PostgreSQL ${postgres}`;
  return `plain PostgreSQL ${postgres}${canMove ? " (TimescaleDB is there: `quotekeeper migrate --to-timescaledb` moves to it)" : ""}`;
}
