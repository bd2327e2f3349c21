/** Quotes put straight into an archive, one line each. */
import type pg from "pg";
import { ensurePartitions } from "../../src/archive/partitions.ts";
import { freshDatabase } from "./database.ts";

/** One observation; times are New York's, prices and volume text. */
export type Seen = {
  at: string;
  id?: number;
  source?: number;
  delayed?: boolean;
  bid?: string | null;
  ask?: string | null;
  last?: string | null;
  volume?: string | null;
  delta?: string | null;
};

/** A migrated database with these stocks, numbered from 1. */
export async function archive(...instruments: string[]): Promise<pg.Pool> {
  const { pool } = await freshDatabase();
  for (const [index, symbol] of instruments.entries())
    await pool.query(
      "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values ($1, 'CS', $2, now(), now())",
      [index + 1, symbol],
    );
  return pool;
}

/** Inserts observations as one batch; those that are there already are passed over. */
export async function see(pool: pg.Pool, ...seen: Seen[]): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ at: string }>(
      "select to_char((at::timestamp at time zone 'America/New_York') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') as at from unnest($1::text[]) at order by 1",
      [seen.map(({ at }) => at)],
    );
    await ensurePartitions(client, rows[0]?.at ?? "", rows.at(-1)?.at ?? "");
    const keys = [
      seen.map(({ at }) => at),
      seen.map(({ id = 1 }) => id),
      seen.map(({ source = 1 }) => source),
    ];
    await client.query(
      `insert into quotes (observed_at, instrument_id, source_id, delayed, bid, ask, last)
       select at::timestamp at time zone 'America/New_York', id, source, delayed, bid, ask, last
       from unnest($1::text[], $2::int[], $3::smallint[], $4::bool[], $5::numeric[], $6::numeric[], $7::numeric[])
         as t (at, id, source, delayed, bid, ask, last)
       on conflict do nothing`,
      [
        ...keys,
        seen.map(({ delayed = false }) => delayed),
        seen.map(({ bid = null }) => bid),
        seen.map(({ ask = null }) => ask),
        seen.map(({ last = null }) => last),
      ],
    );
    await client.query(
      `insert into extended_quotes (observed_at, instrument_id, source_id, volume, delta)
       select at::timestamp at time zone 'America/New_York', id, source, volume, delta
       from unnest($1::text[], $2::int[], $3::smallint[], $4::bigint[], $5::numeric[]) as t (at, id, source, volume, delta)
       on conflict do nothing`,
      [...keys, seen.map(({ volume = null }) => volume), seen.map(({ delta = null }) => delta)],
    );
  } finally {
    client.release();
  }
}
