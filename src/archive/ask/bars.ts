/** Bars of one series, with the bid and ask at their ends, the calendar and the dividends beside them. */
import type pg from "pg";
import { instantFromDate } from "../../ground/clock.ts";
import { alwaysOpen } from "../../market/calendar/tradingCalendar.ts";
import { isoOf } from "./queries.ts";
import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";
import { INSTRUMENT_NAME } from "../schema/instrumentNames.ts";
import type { Bar, BarsView, DividendView, SessionView, SourceKind } from "./dashboardTypes.ts";
import { type Interval, isOfDates, MOST_BARS, mondayOf, WIDTH_MS, widthFor } from "./widths.ts";

/** An instrument as one source gave it, real-time or delayed. */
type Series = { instrumentId: number; sourceId: number; delayed: boolean };

type NamedSeries = Series & { instrument: string; source: SourceKind; sourceName: string };

/**
 * Which bars: those of the newest exchange dates with quotes, or of the dates from one to another, both included. With `since` those of
 * them from that date on, in the width that all of them have.
 */
type BarsQuery = {
  interval: Interval;
  sessions: number;
  dates?: { from: string; to: string } | null;
  since?: string | null;
};

/** `whole`: no bars of the range are left out. */
type BarsResult = { view: BarsView; whole: boolean };

/** Midnight in New York at which a date begins, of a parameter. */
const beginning = (parameter: string, days = 0): string =>
  `(${parameter}::date + ${days})::timestamp at time zone 'America/New_York'`;

/** Reads bars in the width that was asked for, or in the next one that gives no more than MOST_BARS. */
export async function readBars(pool: pg.Pool, of: Series, query: BarsQuery): Promise<BarsResult> {
  const series = await named(pool, of);
  const { days, more } = await daysOf(pool, series, query);
  const [first, to] = [days[0]?.date, days.at(-1)?.date];
  const { instrument, source, delayed } = series;
  const about = { instrument, source, delayed, asked: query.interval, more };
  const none = { ...about, interval: query.interval, bars: [], sessions: [], dividends: [] };
  if (first === undefined || to === undefined) return { view: none, whole: true };
  const isSimulated = series.sourceId === SIMULATED_SOURCE;
  const sessions = isSimulated ? simulatedSessions(first, to) : await sessionsBetween(pool, first, to);
  const dates = new Set(days.map(({ date }) => date));
  const empty = sessions.filter(({ date }) => !dates.has(date)).length;
  const interval = widthFor(query.interval, { withQuotes: days, empty }, MOST_BARS);
  const ofWeeks = interval === "1w";
  const since = query.since && ofWeeks ? mondayOf(query.since) : (query.since ?? first);
  const from = since > first ? since : first;
  const wanted = sessions.filter(({ date }) => date >= from);
  const stretch = { interval, from: ofWeeks ? mondayOf(from) : from, to: ofWeeks ? sundayOf(to) : to };
  const view = {
    ...about,
    interval,
    bars: await barsOf(pool, series, { ...stretch, sessions: wanted }),
    // From midnight to the first quote of the simulated market nothing is missing: it has no hours within dates.
    sessions: isSimulated && !isOfDates(interval) ? [] : wanted,
    dividends: await dividendsOf(pool, series, from),
  };
  return { view, whole: from === first };
}

async function named(pool: pg.Pool, series: Series): Promise<NamedSeries> {
  const { rows } = await pool.query<Pick<NamedSeries, "instrument" | "source" | "sourceName">>(
    `select ${INSTRUMENT_NAME} as instrument, s.kind as source, s.name as "sourceName"
     from instruments i, sources s where i.id = $1 and s.id = $2`,
    [series.instrumentId, series.sourceId],
  );
  const unknown = { instrument: String(series.instrumentId), source: "import", sourceName: "" } as const;
  return { ...series, ...(rows[0] ?? unknown) };
}

async function daysOf(
  pool: pg.Pool,
  { instrumentId, sourceId, delayed }: Series,
  { sessions, dates = null }: BarsQuery,
): Promise<{ days: { date: string; quotes: number; spanMs: number }[]; more: boolean }> {
  const { rows } = await pool.query<{ date: string; quotes: number; spanMs: number }>(
    `select date, quote_count::float8 as quotes, ceil(extract(epoch from last_at - first_at) * 1000)::float8 as "spanMs"
     from session_bars_now
     where instrument_id = $1 and source_id = $2 and delayed = $3
       and ($4::date is null or date >= $4) and ($5::date is null or date <= $5)
     order by date desc limit $6`,
    [instrumentId, sourceId, delayed, dates?.from, dates?.to, dates ? null : sessions + 1],
  );
  const wanted = dates ? rows : rows.slice(0, sessions);
  return { days: wanted.toReversed(), more: rows.length > wanted.length };
}

/** Until the Sunday after or on a date: bars of weeks are of whole ones. */
function sundayOf(date: string): string {
  return new Date(Date.parse(mondayOf(date)) + 6 * WIDTH_MS["1d"]).toISOString().slice(0, 10);
}

type Stretch = { interval: Interval; from: string; to: string };

async function barsOf(
  pool: pg.Pool,
  series: NamedSeries,
  { sessions, ...stretch }: Stretch & { sessions: readonly SessionView[] },
): Promise<Bar[]> {
  const { instrument, source, sourceName, delayed, instrumentId } = series;
  const { interval, from, to } = stretch;
  const { rows } = await pool.query<Omit<Bar, "bid" | "ask">>(
    `select date, session, bar_at as at, open, high, low, close,
       trim_scale(round(mean_spread, 6)) as "meanSpread", quote_count as "quoteCount", volume
     from bars($1, $2::interval, ${beginning("$3")}, ${beginning("$4", 1)})
     where source = $5 and source_name = $6 and delayed = $7 and instrument_id = $8
     order by bar_at`,
    [instrument, interval, from, to, source, sourceName, delayed, instrumentId],
  );
  const ends = await endsOf(pool, series, { ...stretch, at: rows.map(({ at }) => at) });
  const kinds = new Map(sessions.map(({ date, kind }) => [date, kind]));
  return rows.map((row, index) => ({
    ...row,
    // A bar of a date is of its session; one of a week is of several.
    session: interval === "1d" ? (kinds.get(row.date) ?? "closed") : row.session,
    at: isoOf(row.at),
    ...(ends.get(index + 1) ?? { bid: null, ask: null }),
  }));
}

type Ends = Pick<Bar, "bid" | "ask">;

/** By the bar's place, from 1. A bar ends where the next one begins: one that the open or the close cuts short does not reach over it. */
async function endsOf(
  pool: pg.Pool,
  { instrumentId, sourceId, delayed }: Series,
  { interval, to, at }: { interval: Interval; to: string; at: readonly string[] },
): Promise<Map<number, Ends>> {
  const { rows } = await pool.query<Ends & { place: number }>(
    `select e.place::int as place, q.bid, q.ask
     from (
       select at, place, least(at + $5::interval, lead(at, 1, 'infinity') over (order by place), ${beginning("$6", 1)}) as until_at
       from unnest($4::timestamptz[]) with ordinality as a (at, place)
     ) e
     cross join lateral (
       select q.bid, q.ask from quotes q
       where q.instrument_id = $1 and q.source_id = $2 and q.delayed = $3
         and q.observed_at >= e.at and q.observed_at < e.until_at and q.bid > 0 and q.ask > 0
       order by q.observed_at desc limit 1
     ) q`,
    [instrumentId, sourceId, delayed, at, interval, to],
  );
  return new Map(rows.map(({ place, bid, ask }) => [place, { bid, ask }]));
}

function simulatedSessions(from: string, to: string): SessionView[] {
  return alwaysOpen.sessions(from, to).map(({ date, kind, open, close }) => ({
    date,
    kind,
    openAt: instantFromDate(open),
    closeAt: instantFromDate(close),
  }));
}

async function sessionsBetween(pool: pg.Pool, from: string, to: string): Promise<SessionView[]> {
  const { rows } = await pool.query<SessionView>(
    `select date, kind, open_at as "openAt", close_at as "closeAt" from sessions where date between $1 and $2 order by date`,
    [from, to],
  );
  return rows.map((day) => ({ ...day, openAt: isoOf(day.openAt), closeAt: isoOf(day.closeAt) }));
}

async function dividendsOf(
  pool: pg.Pool,
  { instrumentId, sourceId }: Series,
  from: string,
): Promise<DividendView[]> {
  const { rows } = await pool.query<DividendView>(
    `select distinct on (ex_date) ex_date as "exDate", amount, yield from dividends
     where instrument_id = $1 and source_id = $2 and ex_date >= $3
     order by ex_date, observed_at desc`,
    [instrumentId, sourceId, from],
  );
  return rows;
}
