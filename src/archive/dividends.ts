/** Dividends, of which a row is kept for each change. */
import type pg from "pg";
import type { Instant } from "../instant.ts";
import type { DividendData } from "../quotes-api/document.ts";
import { inTimeOrder, type PlacedUnit } from "./quoteColumns.ts";
import { dividendOf } from "./rows.ts";

/** A dividend as one quote tells it. */
export type DividendRow = {
  observedAt: Instant;
  instrumentId: number;
  sourceId: number;
  dividend: DividendData;
};

/**
 * A dividend is stored when it is first seen or differs from the last one before it: the previous one of the same
 * batch, or else the newest in the archive.
 */
export async function insertDividends(client: pg.ClientBase, given: readonly DividendRow[]): Promise<number> {
  if (given.length === 0) return 0;
  const { rowCount } = await client.query({
    name: "insert dividends",
    text: `with given as (
       select *, row_number() over w as place,
              lag((ex_date, amount, yield)) over w as before
       from unnest($1::timestamptz[], $2::int[], $3::smallint[], $4::date[], $5::numeric[], $6::numeric[])
         as given (observed_at, instrument_id, source_id, ex_date, amount, yield)
       window w as (partition by instrument_id, source_id order by observed_at)
     )
     insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield)
     select g.observed_at, g.instrument_id, g.source_id, g.ex_date, g.amount, g.yield
     from given g
     left join lateral (
       select true as found, d.ex_date, d.amount, d.yield
       from dividends d
       where d.instrument_id = g.instrument_id and d.source_id = g.source_id and d.observed_at < g.observed_at
       order by d.observed_at desc
       limit 1
     ) kept on g.place = 1
     where case
             when g.place > 1 then g.before is distinct from (g.ex_date, g.amount, g.yield)
             when kept.found then (kept.ex_date, kept.amount, kept.yield) is distinct from (g.ex_date, g.amount, g.yield)
             else true
           end
     order by g.instrument_id, g.observed_at, g.source_id
     on conflict do nothing`,
    values: [
      given.map(({ observedAt }) => observedAt),
      given.map(({ instrumentId }) => instrumentId),
      given.map(({ sourceId }) => sourceId),
      given.map(({ dividend }) => dividend.exDate),
      given.map(({ dividend }) => dividend.amount),
      given.map(({ dividend }) => dividend.yield),
    ],
  });
  return rowCount ?? 0;
}

/** What was said last of the dividend of each series, an instrument from a source. */
export type LastDividends = Map<number, DividendRow>;

/**
 * The dividends without those that say, to the letter, what the one before them says: nearly all, and what is left
 * is for the database to compare as numbers.
 *
 * @param last of the units before; grows
 */
export function changedDividends(
  units: readonly PlacedUnit[],
  last: LastDividends = new Map(),
): DividendRow[] {
  const changed: DividendRow[] = [];
  for (const { unit, instrumentId, sourceId } of inTimeOrder(units)) {
    const dividend = dividendOf(unit.quote);
    if (dividend === null) continue;
    const row = { observedAt: unit.observedAt, instrumentId, sourceId, dividend };
    const series = instrumentId * SOURCES + sourceId;
    if (!sameText(last.get(series)?.dividend, dividend)) changed.push(row);
    last.set(series, row);
  }
  return changed;
}

/** More than there are numbers of sources: with it, instrument and source are one number. */
const SOURCES = 2 ** 16;

function sameText(a: DividendData | undefined, b: DividendData): boolean {
  return a !== undefined && a.amount === b.amount && a.exDate === b.exDate && a.yield === b.yield;
}
