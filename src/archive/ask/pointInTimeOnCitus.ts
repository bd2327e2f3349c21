/**
 * The look of pointInTime.ts over tables that are cut by instrument: step by step, each as one question to all workers. What a
 * step has found is few rows, which the next one joins by their keys.
 */
import { instantText } from "../schema/tableRows.ts";

/** What the statement is made of: parts of the one for other tiers. */
type Parts = {
  columnsOf: (prefix: "q" | "u") => string;
  dividend: (alias: string, instrument: string) => string;
};

/** Finds the instruments of questions: they are in a table that the coordinator has, and recursion goes to no worker. */
export const found = (common: string): string => `
  with recursive ${common}
  select f.place::int, f.id, f.underlying_id, f.real_time_at, f.delayed_at from found f`;

const row = (name: string, table: string, instrument: string): string => `
${name} as materialized (
  select a.place, true as found, t.* from newest a
  join ${table} t on t.instrument_id = a.${instrument} and t.observed_at = a.at and t.source_id = a.source_id
)`;

/** Each step's rows: the days of a series, the newest quote, its rows in all tables, and when a later one comes. */
const STEPS = `
with f as materialized (
  select * from unnest($1::int[], $2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[])
    as f (place, id, underlying_id, real_time_at, delayed_at)
),
wanted as materialized (
  select f.place, f.id, f.underlying_id, s.id as source_id, array_position($6::text[], s.kind) as rank, c.delayed, c.until,
         coalesce(f.delayed_at, f.real_time_at) as asked_at
  from f
  join sources s on s.kind = any ($6::text[])
  cross join lateral (values (false, f.real_time_at), (true, f.delayed_at)) as c (delayed, until)
  where c.until is not null
),
days as materialized (
  select w.place, w.id, w.source_id, w.delayed,
         max(b.first_at) filter (where b.first_at <= w.until) as from_at,
         max(b.last_at) filter (where b.first_at <= w.until) as to_at,
         min(b.first_at) filter (where b.last_at > w.until) as next_from,
         min(b.last_at) filter (where b.last_at > w.until) as next_to
  from wanted w
  join session_bars b on b.instrument_id = w.id and b.source_id = w.source_id and b.delayed = w.delayed
  group by w.place, w.id, w.source_id, w.delayed
),
spans as materialized (
  select w.*, d.from_at, d.to_at, d.next_from, d.next_to
  from wanted w join days d using (place, id, source_id, delayed)
),
times as materialized (
  select w.place, w.id, w.source_id, w.delayed, max(q.observed_at) as at
  from spans w
  join quotes q on q.instrument_id = w.id and q.source_id = w.source_id and q.delayed = w.delayed
    and q.observed_at between w.from_at and least(w.to_at, w.until)
  group by w.place, w.id, w.source_id, w.delayed
),
newest as materialized (
  select distinct on (t.place) t.place, t.id, w.underlying_id, t.source_id, t.at
  from (select distinct on (t.place, t.id) t.*, w.rank from times t join wanted w using (place, id, source_id, delayed)
        order by t.place, t.id, t.at desc, w.rank, t.source_id) t
  join f w using (place, id)
  order by t.place, t.at desc, t.id
),${[
  row("qq", "quotes", "id"),
  row("qe", "extended_quotes", "id"),
  row("uq", "quotes", "underlying_id"),
  row("ue", "extended_quotes", "underlying_id"),
].join(",")},
next_times as materialized (
  select w.place, w.id, w.source_id, w.delayed, min(q.observed_at) as at
  from spans w
  join quotes q on q.instrument_id = w.id and q.source_id = w.source_id and q.delayed = w.delayed
    and q.observed_at > w.until and q.observed_at between w.next_from and w.next_to
  group by w.place, w.id, w.source_id, w.delayed
),
later as materialized (
  select w.place, min(w.asked_at + (coalesce(n.at, w.until) - w.until)) as at
  from spans w left join next_times n using (place, id, source_id, delayed)
  where w.next_to is not null
  group by w.place
)`;

/** @returns $1 to $5: what `found` gave; $6: kinds of sources; $7: how many questions there are */
export const answered = ({ columnsOf, dividend }: Parts): string => `${STEPS}
select i.security_type, i.symbol, i.root, i.exchange, i.description, i.expiration, i.option_type, i.strike,
       v.symbol as underlying_symbol, v.exchange as underlying_exchange, v.description as underlying_description,
       qq.found as q_found, qd.found as q_dividend_found, ${columnsOf("q")},
       uq.found as u_found, ud.found as u_dividend_found, ${columnsOf("u")},
       p.place, null as state,
       ${instantText("l.at")} as next_at
from generate_series(1, $7::int) as p (place)
left join newest n on n.place = p.place
left join instruments i on i.id = n.id
left join instruments v on v.id = n.underlying_id
left join qq q on q.place = p.place
left join qq on qq.place = p.place
left join qe on qe.place = p.place
left join uq on uq.place = p.place
left join ue on ue.place = p.place
${dividend("qd", "case when i.option_type is null then i.id end")}
${dividend("ud", "v.id")}
left join later l on l.place = p.place`;
