/** Marks slots as filled whose quotes came to the archive after they had been accounted for as missed. */
import type pg from "pg";
import { fills } from "../schema/backfillSchema.ts";
import { isNamed, rootsOf } from "../schema/instrumentNames.ts";
import { markLate } from "../schema/lateDays.ts";
import { LATEST_ANSWER_MS } from "../ledger/storedWithin.ts";
import { misses } from "../schema/schema.ts";
import { columnList, inArrays } from "../schema/tableRows.ts";
import { type NearRows, withNear } from "../tiers/citus/door.ts";
import type { Instant } from "../../ground/clock.ts";
import { inTransaction } from "../connect/transaction.ts";

/** A slot with misses, and the ones of its job beside it in the ledger; epoch ms UTC. */
type MissedSlot = {
  job: string;
  simulated: boolean;
  slotMs: number;
  previousMs: number | null;
  nextMs: number | null;
};

/** An account's share of a slot with misses, and when the slot was over. */
type MissedShare = { job: string; slotAt: string; sourceId: number; accountId: number; endsAt: string };

/** What the job files say of the slots that are to be filled. */
export type PolledJobs = {
  /** Jobs whose quotes are or may be delayed: theirs alone are filled by delayed ones. */
  delayedJobs: readonly string[];
  /** When a slot was over, epoch ms UTC: at most a day after it began. */
  endOf: (slot: MissedSlot) => number;
};

type FillOptions = {
  /** Slots from `from` on and before `to`; null: no bound. */
  from: Instant | null;
  to: Instant | null;
  by: "journal" | "xml" | "csv" | "parquet" | "gaps";
  polled: PolledJobs;
  now: Instant;
};

/** The shares of a day's slots with misses; the slots beside them, whichever account's shares those are. */
const MISSED_SLOTS = `
  select g.job, g.slot_at::text as "slotAt", g.source_id as "sourceId", g.account_id as "accountId", o.kind = 'simulated' as simulated,
         (extract(epoch from g.slot_at) * 1000)::float8 as "slotMs",
         (select (extract(epoch from max(p.slot_at)) * 1000)::float8 from slots p
          where p.job = g.job and p.source_id = g.source_id and p.slot_at < g.slot_at) as "previousMs",
         (select (extract(epoch from min(n.slot_at)) * 1000)::float8 from slots n
          where n.job = g.job and n.source_id = g.source_id and n.slot_at > g.slot_at) as "nextMs"
  from (
    select distinct job, slot_at, source_id, account_id from misses
    where slot_at >= greatest($1::timestamptz, $3::timestamptz) and slot_at < least($2::timestamptz, $4::timestamptz)
  ) g
  join sources o on o.id = g.source_id`;

/** When a quote was asked for; one that nobody asked for has its own time. */
const ASKED_AT = `coalesce((select min(r.requested_at) from responses r
  where r.observed_at = q.observed_at and r.source_id = q.source_id), q.observed_at)`;

/**
 * The quotes that fill a miss: the first of its instrument that was asked for within the slot, from its own market, whichever
 * account asked, or from an import for an account's slot. A simulated slot is filled by simulated quotes alone. The star
 * stands for all that was due.
 */
const FOUND = `
  with open as materialized (
    select o.*, s.due_set_id
    from unnest($1::text[], $2::timestamptz[], $3::smallint[], $4::smallint[], $5::timestamptz[])
      as o (job, slot_at, source_id, account_id, ends_at)
    join slots s using (job, slot_at, source_id, account_id)
  ), wanted as (
    select o.job, o.slot_at, o.source_id, o.account_id, o.ends_at, due.name, m.reason, m.instrument = '*' as starred, k.kind as market
    from open o
    join sources k on k.id = o.source_id
    join misses m using (job, slot_at, source_id, account_id)
    join due_sets d on d.id = o.due_set_id
    cross join lateral unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as due (name)
  ), named as materialized (
    select i.id, n.name
    from (select distinct name from wanted) n
    join instruments i on ${isNamed("n.name")}
  )
  select w.job, w.slot_at, w.source_id, w.name, w.reason, w.starred, f.observed_at, f.fill_source_id,
         $7, $8::timestamptz, w.account_id
  from wanted w
  cross join lateral (
    select q.observed_at, q.source_id as fill_source_id
    from named n
    join quotes q on q.instrument_id = n.id and q.observed_at >= w.slot_at
      and q.observed_at < w.ends_at + interval '${LATEST_ANSWER_MS} ms'
    join sources s on s.id = q.source_id
    where n.name = w.name
      and (s.kind = w.market or (s.kind = 'import' and w.market = 'account'))
      and (not q.delayed or w.job = any ($6::text[]))
      and ${ASKED_AT} >= w.slot_at and ${ASKED_AT} < w.ends_at
    order by s.kind <> w.market, q.observed_at
    limit 1
  ) f`;

/**
 * Fills slots, the days of the exchange one by one, each in a transaction of its own. Asked again it finds nothing.
 *
 * @returns how many misses are filled
 */
export async function fillSlots(pool: pg.Pool, options: FillOptions): Promise<number> {
  const { rows } = await pool.query<{ day: string }>(
    `select distinct date_trunc('day', slot_at) as day from misses
     where slot_at >= coalesce($1::timestamptz, '-infinity') and slot_at < coalesce($2::timestamptz, 'infinity')
     order by 1`,
    [options.from, options.to],
  );
  let filled = 0;
  for (const { day } of rows) filled += await fillDay(pool, day, options);
  return filled;
}

async function fillDay(
  pool: pg.Pool,
  day: string,
  { from, to, by, polled, now }: FillOptions,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const dayEnds = new Date(Date.parse(day) + DAY_MS).toISOString();
    const missed = await missedSlots(client, [day, dayEnds, from, to], polled);
    if (missed.length === 0) return 0;
    await beginFound(client);
    const values = [
      ...inArrays(missed, "job", "slotAt", "sourceId", "accountId", "endsAt"),
      polled.delayedJobs,
      by,
      now,
    ];
    const { rowCount } = await withNear(
      client,
      () => quotesNear(client, [day, dayEnds]),
      () => client.query(`insert into found_fills ${FOUND}`, values),
    );
    if ((rowCount ?? 0) > 0) {
      await settle(client);
      const { rows } = await client.query<{ date: string }>(
        "select distinct (slot_at at time zone 'America/New_York')::date::text as date from found_fills",
      );
      await markLate(
        client,
        rows.map(({ date }) => date),
      );
    }
    return rowCount ?? 0;
  });
}

/** The shares of slots with misses between two times, and when each was over. */
async function missedSlots(
  client: pg.ClientBase,
  span: [from: string, to: string, notBefore: Instant | null, before: Instant | null],
  { endOf }: PolledJobs,
): Promise<MissedShare[]> {
  const { rows } = await client.query<MissedSlot & Pick<MissedShare, "slotAt" | "sourceId" | "accountId">>(
    MISSED_SLOTS,
    span,
  );
  return rows.map((row) => ({ ...row, endsAt: new Date(endOf(row)).toISOString() }));
}

const DAY_MS = 86_400_000;

/** The symbols and roots of all that was missed between two times. */
async function missedRoots(client: pg.ClientBase, span: [string, string]): Promise<string[]> {
  const { rows } = await client.query<{ root: string }>(
    `select distinct unnest(${rootsOf("name")}) as root
     from misses m
     join slots s using (job, slot_at, source_id, account_id)
     join due_sets d on d.id = s.due_set_id
     cross join lateral unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as name
     where m.slot_at >= $1 and m.slot_at < $2`,
    span,
  );
  return rows.map(({ root }) => root);
}

/** What may fill slots between two times, which last a day at most. */
async function quotesNear(client: pg.ClientBase, [from, to]: [string, string]): Promise<NearRows[]> {
  const roots = await missedRoots(client, [from, to]);
  return [
    { table: "sources" },
    { table: "instruments", rows: "where coalesce(t.root, t.symbol) = any ($1)", values: [roots] },
    {
      table: "quotes",
      rows: `join instruments i on i.id = t.instrument_id
        where coalesce(i.root, i.symbol) = any ($1) and t.observed_at >= $2 and t.observed_at < $3::timestamptz + interval '1 day'`,
      values: [roots, from, to],
    },
  ];
}

/** Makes the table of what is found, which ends with the transaction. */
export async function beginFound(client: pg.ClientBase): Promise<void> {
  await client.query("drop table if exists pg_temp.found_fills");
  await client.query(
    `create temp table found_fills (job text, slot_at timestamptz, source_id smallint, name text, reason text,
       starred boolean, observed_at timestamptz, fill_source_id smallint, filled_by text, filled_at timestamptz,
       account_id smallint)
     on commit drop`,
  );
}

/** Moves what was found from `misses` to `fills`, and counts it in its slots. */
export async function settle(client: pg.ClientBase): Promise<void> {
  // A star under which something was found becomes a row for each instrument that is still missing.
  await client.query(
    `with starred as (
       select distinct job, slot_at, source_id, account_id from found_fills where starred
     ), gone as (
       delete from misses m using starred s
       where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id and m.account_id = s.account_id
         and m.instrument = '*'
       returning m.job, m.slot_at, m.source_id, m.account_id, m.reason
     )
     insert into misses (${columnList(misses, "job", "slotAt", "sourceId", "accountId", "instrument", "reason")})
     select g.job, g.slot_at, g.source_id, g.account_id, name, g.reason
     from gone g
     join slots s using (job, slot_at, source_id, account_id)
     join due_sets d on d.id = s.due_set_id
     cross join unnest(d.instruments) as name
     on conflict do nothing`,
  );
  await client.query(
    `with gone as (
       delete from misses m using found_fills f
       where m.job = f.job and m.slot_at = f.slot_at and m.source_id = f.source_id and m.account_id = f.account_id
         and m.instrument = f.name
       returning f.*
     ), kept as (
       insert into fills (${columnList(fills, "job", "slotAt", "sourceId", "instrument", "reason", "observedAt", "fillSourceId", "filledBy", "filledAt", "accountId")})
       select job, slot_at, source_id, name, reason, observed_at, fill_source_id, filled_by, filled_at, account_id from gone
       on conflict do nothing
     )
     update slots s set stored = s.stored + g.n, missed = s.missed - g.n
     from (select job, slot_at, source_id, account_id, count(*)::int as n from gone group by 1, 2, 3, 4) g
     where s.job = g.job and s.slot_at = g.slot_at and s.source_id = g.source_id and s.account_id = g.account_id`,
  );
}
