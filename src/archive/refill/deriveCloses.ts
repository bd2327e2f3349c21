/**
 * Derives the close of a session that the archive has no quote near the end of: the next session's quotes say it, as
 * their previous close (specification, `prevclose`). It goes to `derived_closes`, never to `quotes`.
 */
import type pg from "pg";
import { derivedCloses } from "../schema/backfillSchema.ts";
import { isNamed } from "../schema/instrumentNames.ts";
import { markLate } from "../schema/lateDays.ts";
import { columnList } from "../schema/tableRows.ts";
import type { Instant } from "../../ground/clock.ts";
import { type NearRows, withNear } from "../tiers/citus/door.ts";
import { inTransaction } from "../connect/transaction.ts";

/** A quote this long before the close, or later on the same date, shows the close; earlier ones do not. */
const NEAR_CLOSE = "15 minutes";

/** Assumed: delayed quotes are at most this old; one that comes this long after the close shows the close. */
const MOST_DELAY = "20 minutes";

/** What to look at: sessions from one exchange date to another, both included; null: no bound. */
type DeriveOptions = { from: string | null; to: string | null; now: Instant };

/** A quote that shows the close of session `s` for instrument and source of `h`. */
const SHOWS_CLOSE = `
  select from quotes q
  where q.instrument_id = h.instrument_id and q.source_id = h.source_id and q.last > 0
    and q.observed_at >= s.close_at - interval '${NEAR_CLOSE}'
    and q.observed_at < (s.date + 1)::timestamp at time zone 'America/New_York'
    and (not q.delayed or q.observed_at >= s.close_at + interval '${MOST_DELAY}')`;

/** Dates on which an instrument was missed, with each source of the slot's market. */
const HOLES = `
  select distinct i.id as instrument_id, (m.slot_at at time zone 'America/New_York')::date as date, k.id as source_id
  from misses m
  join sources o on o.id = m.source_id
  join sources k on k.kind = o.kind
  join slots l using (job, slot_at, source_id, account_id)
  join due_sets d on d.id = l.due_set_id
  cross join lateral unnest(case when m.instrument = '*' then d.instruments else array[m.instrument] end) as due (name)
  join instruments i
    on ${isNamed("due.name")}
  where m.slot_at >= coalesce($1::date, '1900-01-01'::date)::timestamp at time zone 'America/New_York'
    and m.slot_at < (coalesce($2::date, '9000-01-01'::date) + 1)::timestamp at time zone 'America/New_York'`;

/**
 * The next session's previous close is taken from quotes while that session was open: before, the service may still
 * say the one of the day before. Quotes that contradict each other derive nothing.
 */
const DERIVED = `
  select h.instrument_id, h.date, h.source_id, p.close, p.derived_from
  from (${HOLES}) h
  join sessions s on s.date = h.date
  cross join lateral (
    select n.open_at, n.close_at from sessions n where n.date > s.date order by n.date limit 1
  ) next
  cross join lateral (
    select min(e.previous_close) as close, max(e.previous_close) as other, min(e.observed_at) as derived_from
    from extended_quotes e
    where e.instrument_id = h.instrument_id and e.source_id = h.source_id and e.previous_close > 0
      and e.observed_at >= next.open_at and e.observed_at < next.close_at
  ) p
  where p.close is not null and p.close = p.other and not exists (${SHOWS_CLOSE})`;

/**
 * Derives what is missing; a derived close whose session has got its quotes since is taken back.
 *
 * @returns how many closes are new
 */
export async function deriveCloses(pool: pg.Pool, { from, to, now }: DeriveOptions): Promise<number> {
  return inTransaction(pool, async (client) => {
    const [gone, made] = await withNear(
      client,
      () => closesNear(client, from, to),
      () => derive(client, { from, to, now }),
    );
    await markLate(client, [...new Set([...gone, ...made].map(({ date }) => date))]);
    return made.length;
  });
}

/**
 * Quotes near the ends of sessions that may be derived, and those of the sessions after them. The holes are asked for first, by
 * themselves: Citus crashes on a join of the ledger with what is cut.
 */
async function closesNear(
  client: pg.ClientBase,
  from: string | null,
  to: string | null,
): Promise<NearRows[]> {
  const { rows } = await client.query<
    Record<"instrument_id" | "source_id", number> & Record<"near" | "until" | "opens" | "closes", string>
  >(
    `select h.instrument_id, h.source_id, (s.close_at - interval '${NEAR_CLOSE}')::text as near,
       ((s.date + 1)::timestamp at time zone 'America/New_York')::text as until, n.open_at::text as opens, n.close_at::text as closes
     from (select instrument_id, source_id, date from (${HOLES}) h
           union
           select instrument_id, source_id, date from derived_closes
           where date between coalesce($1::date, '-infinity') and coalesce($2::date, 'infinity')) h
     join sessions s on s.date = h.date
     left join sessions n on n.date = (select min(x.date) from sessions x where x.date > s.date)`,
    [from, to],
  );
  const keys = [rows.map((row) => row.instrument_id), rows.map((row) => row.source_id)];
  const between = (table: string, ...span: [unknown[], unknown[]]): NearRows => ({
    table,
    rows: `join unnest($1::int[], $2::smallint[], $3::timestamptz[], $4::timestamptz[]) as h (instrument_id, source_id, since, until)
        on h.instrument_id = t.instrument_id and h.source_id = t.source_id and t.observed_at >= h.since and t.observed_at < h.until
      on conflict do nothing`,
    values: [...keys, ...span],
  });
  return [
    { table: "sessions" },
    { table: "instruments" },
    between(
      "quotes",
      rows.map((row) => row.near),
      rows.map((row) => row.until),
    ),
    between(
      "extended_quotes",
      rows.map((row) => row.opens),
      rows.map((row) => row.closes),
    ),
  ];
}

/** The dates of closes that are taken back, and of those that are new. */
async function derive(
  client: pg.ClientBase,
  { from, to, now }: DeriveOptions,
): Promise<[{ date: string }[], { date: string }[]]> {
  const gone = await client.query<{ date: string }>(
    `delete from derived_closes h using sessions s
     where s.date = h.date and h.date between coalesce($1::date, '-infinity') and coalesce($2::date, 'infinity')
       and exists (${SHOWS_CLOSE})
     returning h.date::text`,
    [from, to],
  );
  const made = await client.query<{ date: string }>(
    `insert into derived_closes (${columnList(derivedCloses, "instrumentId", "date", "sourceId", "close", "derivedFrom", "derivedAt")})
     select instrument_id, date, source_id, close, derived_from, $3 from (${DERIVED}) d
     order by 1, 2, 3
     on conflict do nothing
     returning date::text`,
    [from, to, now],
  );
  return [gone.rows, made.rows];
}
