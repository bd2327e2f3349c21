/** Bars counted from the rows of the tables one by one, in place of the database's statements. Times are epoch seconds, prices cents. */
import type pg from "pg";
import { grouped } from "../../src/collect/asks.ts";

/** The simulated market: each of its dates is one session. */
export const SIMULATED = 2;

/** A row of quotes, and the day of the exchange that it is of. */
export type CountedRow = {
  at: number;
  date: string;
  delayed: boolean;
  source: number;
  /** When its date begins in New York. */
  midnight: number;
  bid: number | null;
  ask: number | null;
  last: number | null;
  volume: number | null;
  /** Where each part of the exchange's day begins; null on a day without a session. */
  parts: number[] | null;
};

/** The rows of an instrument, one series after the other. */
export async function readRows(pool: pg.Pool, id = 1): Promise<CountedRow[]> {
  const { rows } = await pool.query<{ row: CountedRow }>(
    `select json_build_object('at', extract(epoch from q.observed_at), 'date', d.date, 'delayed', q.delayed, 'source', q.source_id,
       'midnight', extract(epoch from d.date::timestamp at time zone 'America/New_York'), 'bid', 100 * q.bid, 'ask', 100 * q.ask,
       'last', 100 * q.last, 'volume', e.volume, 'parts', (
         select json_build_array(extract(epoch from pre_at), extract(epoch from open_at), extract(epoch from close_at), extract(epoch from post_at))
         from sessions s where s.date = d.date)) as row
     from quotes q left join extended_quotes e using (instrument_id, observed_at, source_id)
     cross join lateral (select (q.observed_at at time zone 'America/New_York')::date as date) d
     where instrument_id = $1 order by q.delayed, q.source_id, q.observed_at`,
    [id],
  );
  return rows.map(({ row }) => row);
}

const known = (values: (number | null)[]): number[] => values.filter((value) => value !== null);

/** What a bar says of its rows, whatever its width. */
export function barOf(rows: readonly CountedRow[]) {
  const prices = known(rows.map(({ last }) => last)).filter((last) => last > 0);
  const spreads = rows.flatMap(({ bid, ask }) => (bid && ask ? [ask - bid] : []));
  const spreadSum = spreads.reduce((sum, one) => sum + one, 0);
  return {
    open: prices[0] ?? null,
    high: prices.length > 0 ? Math.max(...prices) : null,
    low: prices.length > 0 ? Math.min(...prices) : null,
    close: prices.at(-1) ?? null,
    spread: spreads.length > 0 ? Number((spreadSum / spreads.length).toFixed(6)) : null,
    n: rows.length,
  };
}

/** The last volume that rows show; null: none does. */
export const lastShown = (rows: readonly CountedRow[]): number | null =>
  known(rows.map(({ volume }) => volume)).at(-1) ?? null;

/** The place of a time among the parts of its day: 0 before the first. */
const partOf = (at: number, parts: readonly number[] | null): number =>
  (parts ?? []).filter((begins) => at >= begins).length;

/** Where the bar of a time begins. Before the first part bars are counted from it as well; without a session from the year 2000 on. */
export function beginningOf(
  at: number,
  { parts, source, midnight }: Pick<CountedRow, "parts" | "source" | "midnight">,
  seconds: number,
): number {
  const origin =
    source === SIMULATED
      ? midnight
      : (parts?.[Math.max(0, partOf(at, parts) - 1)] ?? Date.UTC(2000, 0, 1) / 1_000);
  return origin + Math.floor((at - origin) / seconds) * seconds;
}

const SESSIONS = ["closed", "pre", "regular", "post", "closed"];

/** Bars of a width, one series after the other. */
export function countBars(rows: readonly CountedRow[], seconds: number) {
  const bars = [
    ...grouped(
      rows.map((row) => {
        const session = row.source === SIMULATED ? "regular" : (SESSIONS[partOf(row.at, row.parts)] ?? "");
        return { ...row, session, beginsAt: beginningOf(row.at, row, seconds) };
      }),
      ({ delayed, source, date, session, beginsAt }) => [delayed, source, date, session, beginsAt].join(),
    ).values(),
  ];
  const shownBefore = new Map<string, number>();
  return bars.flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const { beginsAt: at, date, delayed, source, session } = first;
    const series = [delayed, source, date].join();
    const shown = lastShown(own);
    const before = shownBefore.get(series) ?? known(own.map(({ volume }) => volume))[0];
    if (shown !== null) shownBefore.set(series, shown);
    const volume = shown === null || before === undefined ? null : shown < before ? shown : shown - before;
    return [{ at, date, delayed, source, session, ...barOf(own), volume }];
  });
}

/** A bar as `countBars` makes it. */
export type CountedBar = ReturnType<typeof countBars>[number];

/** The bars that the database has, as `countBars` makes them. @param bars a view or a function of bars, as SQL */
export async function readBars(pool: pg.Pool, bars: string, values: unknown[] = []): Promise<CountedBar[]> {
  // A view of bars is not joined with the sources: Citus refuses the join.
  const { rows: sources } = await pool.query<{ id: number; kind: string; name: string }>(
    "select id, kind, name from sources",
  );
  const { rows } = await pool.query<{ bar: CountedBar; kind: string; name: string }>(
    `select json_build_object('at', extract(epoch from bar_at), 'date', date, 'delayed', delayed, 'session', session,
       'open', 100 * open, 'high', 100 * high, 'low', 100 * low, 'close', 100 * close, 'spread', round(100 * mean_spread, 6),
       'n', quote_count, 'volume', volume) as bar, source as kind, source_name as name
     from ${bars} b order by delayed, bar_at`,
    values,
  );
  const found = rows.map(({ bar, kind, name }) => ({
    ...bar,
    source: sources.find((one) => one.kind === kind && one.name === name)?.id ?? NaN,
  }));
  return found.toSorted(
    (one, other) => Number(one.delayed) - Number(other.delayed) || one.source - other.source,
  );
}
