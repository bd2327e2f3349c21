/** Bars of one series, with the bid and ask at their ends, the calendar and the dividends beside them. */
import type pg from "pg";
import { instantFromDate } from "../../clock.ts";
import { alwaysOpen } from "../../market/calendar/tradingCalendar.ts";
import { isoOf } from "../queries.ts";
import { SIMULATED_SOURCE } from "../schema.ts";
import type { Bar, BarsView, DividendView, Interval, SessionView } from "./dashboardTypes.ts";

/** An instrument as one source gave it, real-time or delayed. */
type Series = { instrumentId: number; sourceId: number; delayed: boolean };

/** Most sessions of one answer, by width: at a quote a minute each is some thousands of bars at most. */
const MOST_SESSIONS: Readonly<Record<Interval, number>> = {
  "1m": 5,
  "5m": 25,
  "1h": 260,
  "1d": 10_000,
};

const WIDTHS = { "1m": "1 minute", "5m": "5 minutes", "1h": "1 hour" } as const;

type Row = Omit<Bar, "at" | "meanSpread" | "quoteCount"> & {
  bar_at: string;
  mean_spread: string | null;
  quote_count: string;
};

/** @param options.sessions how many of the newest exchange dates with quotes; cut to MOST_SESSIONS */
export async function readBars(
  pool: pg.Pool,
  series: Series,
  { interval, sessions }: { interval: Interval; sessions: number },
): Promise<BarsView> {
  const wanted = Math.min(sessions, MOST_SESSIONS[interval]);
  const found = await pool.query<{ date: string }>(
    `select date from session_bars
     where instrument_id = $1 and source_id = $2 and delayed = $3
     order by date desc limit $4`,
    [series.instrumentId, series.sourceId, series.delayed, wanted + 1],
  );
  const dates = found.rows.slice(0, wanted).map(({ date }) => date);
  const [to, from] = [dates[0], dates.at(-1)];
  const more = found.rows.length > wanted;
  if (to === undefined || from === undefined)
    return { interval, bars: [], sessions: [], dividends: [], more };
  const bars =
    interval === "1d" ? await daily(pool, series, from) : await intraday(pool, series, { interval, dates });
  return {
    interval,
    bars: bars.map(toBar),
    sessions:
      series.sourceId === SIMULATED_SOURCE
        ? simulatedSessions(interval, from, to)
        : await sessionsBetween(pool, from, to),
    dividends: await dividendsOf(pool, series, from),
    more,
  };
}

async function intraday(
  pool: pg.Pool,
  { instrumentId, sourceId, delayed }: Series,
  { interval, dates }: { interval: keyof typeof WIDTHS; dates: readonly string[] },
): Promise<Row[]> {
  // A bar ends where the next one begins: one that the open or the close cuts short does not reach over it.
  const { rows } = await pool.query<Row>(
    `select b.date, b.session, b.bar_at, b.open, b.high, b.low, b.close, trim_scale(round(b.mean_spread, 6)) as mean_spread,
            b.quote_count, b.volume, q.bid, q.ask
     from (
       select v.*, least(v.bar_at + $5::interval, lead(v.bar_at, 1, 'infinity') over (order by v.bar_at)) as until_at
       from bars_${interval} v
       join sources s on s.kind = v.source and s.name = v.source_name
       where v.instrument_id = $1 and s.id = $2 and v.delayed = $3 and v.date = any ($4::date[])
     ) b
     left join lateral (
       select q.bid, q.ask from quotes q
       where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3
         and q.observed_at >= b.bar_at and q.observed_at < b.until_at and q.bid > 0 and q.ask > 0
       order by q.observed_at desc limit 1
     ) q on true
     order by b.bar_at`,
    [instrumentId, sourceId, delayed, dates, WIDTHS[interval]],
  );
  return rows;
}

async function daily(
  pool: pg.Pool,
  { instrumentId, sourceId, delayed }: Series,
  from: string,
): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select b.date, b.session, b.first_at as bar_at, b.open, b.high, b.low, b.close,
            trim_scale(round(b.mean_spread, 6)) as mean_spread, b.quote_count, b.volume, q.bid, q.ask
     from bars_1d b
     join sources s on s.kind = b.source and s.name = b.source_name
     left join lateral (
       select q.bid, q.ask from quotes q
       where q.instrument_id = b.instrument_id and q.source_id = $2 and q.delayed = $3
         and q.observed_at = b.last_at and q.bid > 0 and q.ask > 0
       limit 1
     ) q on true
     where b.instrument_id = $1 and s.id = $2 and b.delayed = $3 and b.date >= $4
     order by b.date`,
    [instrumentId, sourceId, delayed, from],
  );
  return rows;
}

function toBar({ bar_at, mean_spread, quote_count, ...row }: Row): Bar {
  return { ...row, at: isoOf(bar_at), meanSpread: mean_spread, quoteCount: quote_count };
}

/** Each date is one. From midnight to the first quote nothing is missing, and so there are no hours within dates. */
function simulatedSessions(interval: Interval, from: string, to: string): SessionView[] {
  if (interval !== "1d") return [];
  return alwaysOpen.sessions(from, to).map(({ date, kind, open, close }) => ({
    ...{ date, kind, openAt: instantFromDate(open), closeAt: instantFromDate(close) },
  }));
}

async function sessionsBetween(pool: pg.Pool, from: string, to: string): Promise<SessionView[]> {
  const { rows } = await pool.query<{
    date: string;
    kind: "regular" | "early";
    open_at: string;
    close_at: string;
  }>("select date, kind, open_at, close_at from sessions where date between $1 and $2 order by date", [
    from,
    to,
  ]);
  return rows.map(({ date, kind, open_at, close_at }) => ({
    ...{ date, kind },
    ...{ openAt: isoOf(open_at), closeAt: isoOf(close_at) },
  }));
}

/** What the service said last of each ex-date. */
async function dividendsOf(
  pool: pg.Pool,
  { instrumentId, sourceId }: Series,
  from: string,
): Promise<DividendView[]> {
  const { rows } = await pool.query<{ ex_date: string; amount: string | null; yield: string | null }>(
    `select distinct on (ex_date) ex_date, amount, yield from dividends
     where instrument_id = $1 and source_id = $2 and ex_date >= $3
     order by ex_date, observed_at desc`,
    [instrumentId, sourceId, from],
  );
  return rows.map(({ ex_date, amount, yield: paid }) => ({ exDate: ex_date, amount, yield: paid }));
}
