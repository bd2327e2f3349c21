/** Quotes put straight into an archive, one line each. */
import type pg from "pg";
import { barPartsOf } from "../../src/archive/load/barParts.ts";
import { copyLines, type SeriesLines } from "../../src/archive/load/copyQuotes.ts";
import { BEGIN_WITH_BARS, type GivenBars } from "../../src/archive/load/givenBars.ts";
import { ensurePartitions } from "../../src/archive/schema/partitions.ts";
import { isOnCitus } from "../../src/archive/tiers/citus.ts";
import { CopyLines } from "../../src/read/copyLines.ts";
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
    await instantsOf(client, seen);
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
    // Where no trigger does it, whoever writes asks for the bars.
    if (await isOnCitus(client))
      await client.query(
        `select follow_rows(array_agg(id), array_agg(source), array_agg(delayed), array_agg(at::timestamp at time zone 'America/New_York'))
         from unnest($1::text[], $2::int[], $3::smallint[], $4::bool[]) as t (at, id, source, delayed)`,
        [...keys, seen.map(({ delayed = false }) => delayed)],
      );
  } finally {
    client.release();
  }
}

/** `observed_at` of each, ascending; there is room for them afterwards. */
async function instantsOf(client: pg.ClientBase, seen: readonly Seen[]): Promise<string[]> {
  const { rows } = await client.query<{ at: string }>(
    "select to_char((at::timestamp at time zone 'America/New_York') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') as at from unnest($1::text[]) at order by 1",
    [seen.map(({ at }) => at)],
  );
  const instants = rows.map(({ at }) => at);
  await ensurePartitions(client, instants[0] ?? "", instants.at(-1) ?? "");
  return instants;
}

/**
 * Loads new observations of one series, in the order of their times, as a stretch is loaded: its bars are given.
 *
 * @param options.keeps whether bars that are over are kept at once; false: with those of a later load
 */
export async function load(
  pool: pg.Pool,
  bars: GivenBars,
  seen: readonly Seen[],
  { keeps = true } = {},
): Promise<void> {
  const client = await pool.connect();
  try {
    const instants = await instantsOf(client, seen);
    const numbers = [{ instrumentId: seen[0]?.id ?? 1, sourceId: seen[0]?.source ?? 1 }];
    const [series, quotes, extended] = linesOf(seen, instants);
    const parts = barPartsOf(series, quotes, extended) ?? [];
    await client.query(BEGIN_WITH_BARS);
    await copyLines(client, { series, quotes, extended }, numbers);
    const remember = await bars.give(client, parts, numbers);
    await client.query("commit");
    remember();
    if (keeps && bars.areWaiting(false)) await bars.keep(pool);
  } finally {
    client.release();
  }
}

function linesOf(
  seen: readonly Seen[],
  instants: readonly string[],
): [{ rows: number }[], SeriesLines, SeriesLines] {
  const lines = (rest: (one: Seen) => readonly (string | null | undefined)[]): SeriesLines => {
    const made = new CopyLines();
    const starts = seen.map((one, place) => {
      const start = made.begin();
      for (const value of [instants[place], ...rest(one)]) made.addValue(value ?? null);
      made.endLine();
      return start;
    });
    return { bytes: new Uint8Array(made.bytes.subarray(0, made.end)), starts: new Uint32Array(starts) };
  };
  const quotes = lines(({ delayed, bid, ask, last }) => [delayed ? "t" : "f", bid, ask, last, null, null]);
  const before = Array.from({ length: 6 }, () => null);
  const behind = Array.from({ length: 8 }, () => null);
  const extended = lines(({ volume, delta }) => [...before, volume, ...behind, delta]);
  return [[{ rows: seen.length }], quotes, extended];
}
