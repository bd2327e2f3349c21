/**
 * Dividends. A quote has a row where it says something else than the quote before it, in whatever order quotes come: from the
 * last row before quotes that come, the rows of their series, an instrument from a source, are made anew.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import type { DividendData } from "../../quotes/document.ts";
import { dividendOf } from "../../read/answerToRows.ts";
import { inTimeOrder, type Key, type PlacedUnit, seriesNumber } from "../schema/quoteColumns.ts";
import { dividends } from "../schema/schema.ts";
import { columnList, inArrays, instantText } from "../schema/tableRows.ts";
import { engineOf } from "../tiers/citus/door.ts";

/** What a quote says of the dividend; null: nothing, and what the quote before it says holds on. */
type Word = Key & { dividend: DividendData | null };

/** Words of one series that follow each other and say the same, from the first one's time to the last one's. */
type Run = Omit<Key, "observedAt"> & { from: Instant; until: Instant; dividend: DividendData };

/** What the quotes of one series say, ascending, each time once. */
type Series = { words: Word[]; runs: Run[] };

/**
 * Makes the rows of series anew whose quotes were stored and say something else than the table has.
 *
 * @param client in a transaction that has locked the instruments (refreshInstruments.ts): whoever else brings quotes of one
 *   of them waits, or its quotes and rows can be seen
 * @returns how many rows are new
 */
export async function makeDividends(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<number> {
  const changed = await findChanged(client, seriesOf(units));
  if (changed.length === 0) return 0;
  const words = changed.flatMap((series) => series.words);
  const next = await readNext(client, words);
  const { rows } = await client.query<{ rows: number }>({
    name: "make dividends",
    text: REMAKE,
    values: [...inArrays(words, "observedAt", "instrumentId", "sourceId"), ...valuesOf(words), next],
  });
  return rows[0]?.rows ?? 0;
}

function seriesOf(units: readonly PlacedUnit[]): Series[] {
  const all = new Map<number, Series>();
  for (const { unit, instrumentId, sourceId } of inTimeOrder(units)) {
    const number = seriesNumber(instrumentId, sourceId);
    const series = all.get(number) ?? { words: [], runs: [] };
    all.set(number, series);
    const { observedAt, quote } = unit;
    // Of two quotes of one time the first is stored.
    if (series.words.at(-1)?.observedAt === observedAt) continue;
    const dividend = dividendOf(quote);
    series.words.push({ instrumentId, sourceId, observedAt, dividend });
    const run = series.runs.at(-1);
    if (dividend !== null && (run === undefined || !isSame(run.dividend, dividend)))
      series.runs.push({ instrumentId, sourceId, from: observedAt, until: observedAt, dividend });
    else if (run !== undefined) run.until = observedAt;
  }
  return [...all.values()];
}

function isSame(a: DividendData, b: DividendData): boolean {
  return a.amount === b.amount && a.exDate === b.exDate && a.yield === b.yield;
}

/**
 * The series of which a run has not the newest row at its end, or a row within it. Mostly there is none: each answer says the
 * dividends that are known.
 */
async function findChanged(client: pg.ClientBase, all: readonly Series[]): Promise<Series[]> {
  const runs = all.flatMap((series, place) => series.runs.map((run) => ({ ...run, place })));
  if (runs.length === 0) return [];
  const { rows } = await client.query<{ place: number }>({
    name: "find changed dividends",
    text: `select distinct w.place
      from unnest($1::int[], $2::int[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::date[], $7::numeric[], $8::numeric[])
        as w (place, instrument_id, source_id, from_at, until_at, ex_date, amount, yield)
      left join lateral (
        select * from dividends d where ${IS_OF_SERIES} and d.observed_at <= w.until_at order by d.observed_at desc limit 1
      ) d on true
      where d.observed_at > w.from_at or (d.ex_date, d.amount, d.yield) is distinct from (w.ex_date, w.amount, w.yield)`,
    values: [...inArrays(runs, "place", "instrumentId", "sourceId", "from", "until"), ...valuesOf(runs)],
  });
  return rows.flatMap(({ place }) => all[place] ?? []);
}

const IS_OF_SERIES = "d.instrument_id = w.instrument_id and d.source_id = w.source_id";

const NOTHING: DividendData = { exDate: null, amount: null, yield: null };

function valuesOf(said: readonly Pick<Word, "dividend">[]): (string | null)[][] {
  return inArrays(
    said.map(({ dividend }) => dividend ?? NOTHING),
    "exDate",
    "amount",
    "yield",
  );
}

/** Of each word the next quote of its series; null: there is none, or it is one of the words. */
async function readNext(client: pg.ClientBase, words: readonly Word[]): Promise<(Instant | null)[]> {
  const { nextQuote } = await engineOf(client);
  const { rows } = await client.query<{ next: Instant | null }>(
    `with w as materialized (
        select * from unnest($1::int[], $2::smallint[], $3::timestamptz[])
          with ordinality as w (instrument_id, source_id, observed_at, place)
      )
      select ${instantText("n.observed_at")} as next from w ${nextQuote} order by w.place`,
    inArrays(words, "instrumentId", "sourceId", "observedAt"),
  );
  return rows.map(({ next }, place) => (next === words[place + 1]?.observedAt ? null : next));
}

const COLUMNS = "observed_at, instrument_id, source_id, ex_date, amount, yield";

/**
 * Takes words, the rows from the last one before them to the first one behind them, and the quotes right behind words: where one of
 * these differs from the one before it, there is a row. A quote of the archive says what the newest row at its time says. It may need
 * a row of its own where a word comes between the two.
 */
const REMAKE = `
  with w as materialized (
    select * from unnest($1::timestamptz[], $2::int[], $3::smallint[], $4::date[], $5::numeric[], $6::numeric[], $7::timestamptz[])
      as w (observed_at, instrument_id, source_id, ex_date, amount, yield, next_at)
  ), kept as materialized (
    select d.*
    from (select instrument_id, source_id, min(observed_at) as first_at, max(observed_at) as last_at from w group by 1, 2) w
    cross join lateral (
      (select * from dividends d where ${IS_OF_SERIES} and d.observed_at < w.first_at order by d.observed_at desc limit 1)
      union all
      (select * from dividends d where ${IS_OF_SERIES} and d.observed_at between w.first_at and w.last_at)
      union all
      (select * from dividends d where ${IS_OF_SERIES} and d.observed_at > w.last_at order by d.observed_at limit 1)
    ) d
  ), next as (
    select w.next_at, w.instrument_id, w.source_id, d.ex_date, d.amount, d.yield
    from w cross join lateral (
      select * from dividends d where ${IS_OF_SERIES} and d.observed_at <= w.next_at order by d.observed_at desc limit 1
    ) d
    where d.observed_at <= w.observed_at
  ), said as (
    select distinct on (instrument_id, source_id, observed_at) *, num_nonnulls(ex_date, amount, yield) > 0 as says
    from (
      select ${COLUMNS}, 1 as rank from w
      union all
      select ${COLUMNS}, 2 from kept
      union all
      select *, 3 from next
    ) each
    order by instrument_id, source_id, observed_at, rank
  ), made as (
    select *, says and (ex_date, amount, yield) is distinct from lag((ex_date, amount, yield)) over series as is_row
    from said
    window series as (partition by instrument_id, source_id, says order by observed_at)
  ), gone as (
    delete from dividends d using made w
    where ${IS_OF_SERIES} and d.observed_at = w.observed_at and not w.is_row
  ), stored as (
    insert into dividends as kept (${columnList(dividends, "observedAt", "instrumentId", "sourceId", "exDate", "amount", "yield")})
    select ${COLUMNS} from made where is_row order by instrument_id, observed_at, source_id
    on conflict (instrument_id, observed_at, source_id)
      do update set ex_date = excluded.ex_date, amount = excluded.amount, yield = excluded.yield
      where (kept.ex_date, kept.amount::text, kept.yield::text)
        is distinct from (excluded.ex_date, excluded.amount::text, excluded.yield::text)
  )
  select count(*)::int as rows from made w
  where is_row and not exists (select from kept d where ${IS_OF_SERIES} and d.observed_at = w.observed_at)`;
