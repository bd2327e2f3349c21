/** The questions, each asked of its view and of the raw tables. */
import { CONTRACTS, INSTRUMENTS } from "./market.ts";

/** One question; `targetMs` is what the view has to stay under. */
export type Question = {
  name: string;
  targetMs: number;
  view: string;
  raw: string;
  values: string[];
  rows: number;
};

const DAY_FROM = "$1::timestamp at time zone 'America/New_York'";
const DAY_TO = "($2::date + 1)::timestamp at time zone 'America/New_York'";

const RAW_BAR = `(array_agg(q.last order by q.observed_at))[1] as open, max(q.last) as high, min(q.last) as low,
  (array_agg(q.last order by q.observed_at desc))[1] as close, avg(q.ask - q.bid) as mean_spread, count(*) as quote_count,
  max(e.volume) as volume`;

const BOTH = `quotes q left join extended_quotes e
  on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id`;

/** @param dates exchange dates that are filled, ascending */
export function questions(dates: readonly string[]): Question[] {
  const last = dates.at(-1) ?? "";
  const fifth = dates.at(-5) ?? last;
  const middle = `${dates[Math.floor(dates.length / 2)] ?? last} 12:00 America/New_York`;
  const newest = (
    where: string,
  ): string => `select distinct on (q.instrument_id, q.source_id, q.delayed) q.*, e.volume
    from ${BOTH} join instruments i on i.id = q.instrument_id where q.observed_at <= $1::timestamptz and ${where}
    order by q.instrument_id, q.source_id, q.delayed, q.observed_at desc`;
  return [
    {
      name: `latest_quotes, ${INSTRUMENTS + CONTRACTS} instruments`,
      targetMs: 20,
      view: "select * from latest_quotes",
      raw: `select distinct on (q.instrument_id, q.source_id, q.delayed) q.*, e.volume from ${BOTH}
            order by q.instrument_id, q.source_id, q.delayed, q.observed_at desc`,
      values: [],
      rows: INSTRUMENTS + CONTRACTS,
    },
    {
      name: "bars_1m, one instrument, one day",
      targetMs: 10,
      view: "select * from bars_1m where symbol = 'S250' and option_type is null and date = $1",
      raw: `select date_trunc('minute', q.observed_at) as bar_at, ${RAW_BAR} from ${BOTH}
            join instruments i on i.id = q.instrument_id
            where i.symbol = 'S250' and i.option_type is null and q.observed_at >= ${DAY_FROM} and q.observed_at < ($1::date + 1)::timestamp at time zone 'America/New_York'
            group by 1`,
      values: [last],
      rows: 390,
    },
    {
      name: `bars_1d, ${INSTRUMENTS + CONTRACTS} instruments, five days`,
      targetMs: 100,
      view: "select * from bars_1d where date between $1 and $2",
      raw: `select q.instrument_id, (q.observed_at at time zone 'America/New_York')::date as date, ${RAW_BAR} from ${BOTH}
            where q.observed_at >= ${DAY_FROM} and q.observed_at < ${DAY_TO} group by 1, 2`,
      values: [fifth, last],
      rows: 5 * (INSTRUMENTS + CONTRACTS),
    },
    {
      name: "bars_1h, one instrument, twenty days",
      targetMs: 100,
      view: "select * from bars_1h where symbol = 'S250' and option_type is null and date between $1 and $2",
      raw: `select date_bin('1 hour', q.observed_at, '2026-01-01 14:30+00') as bar_at, ${RAW_BAR} from ${BOTH}
            join instruments i on i.id = q.instrument_id
            where i.symbol = 'S250' and i.option_type is null and q.observed_at >= ${DAY_FROM} and q.observed_at < ${DAY_TO} group by 1`,
      values: [dates.at(-20) ?? dates[0] ?? last, last],
      rows: 7 * Math.min(20, dates.length),
    },
    {
      name: `quotes_at, ${INSTRUMENTS + CONTRACTS} instruments`,
      targetMs: 20,
      view: "select * from quotes_at($1)",
      raw: newest("true"),
      values: [middle],
      rows: INSTRUMENTS + CONTRACTS,
    },
    {
      name: "asof, three symbols",
      targetMs: 20,
      view: "select * from asof($1, '{S001,S250,S500}')",
      raw: newest("i.symbol in ('S001', 'S250', 'S500') and i.option_type is null"),
      values: [middle],
      rows: 3,
    },
    {
      name: `chain_at, ${CONTRACTS} contracts`,
      targetMs: 20,
      view: "select * from chain_at('S250', $1)",
      raw: newest("i.symbol = 'S250' and i.option_type is not null"),
      values: [middle],
      rows: CONTRACTS,
    },
    {
      name: `surface_at, ${CONTRACTS} contracts`,
      targetMs: 40,
      view: "select * from surface_at('S250', $1)",
      raw: newest("i.symbol = 'S250' and i.option_type is not null"),
      values: [middle],
      rows: CONTRACTS,
    },
    {
      name: "bars of 7 minutes, one instrument, one day",
      targetMs: 20,
      view: "select * from bars('S250', '7 minutes', $1::timestamp at time zone 'America/New_York', ($1::date + 1)::timestamp at time zone 'America/New_York')",
      raw: `select date_bin('7 minutes', q.observed_at, ($1::date + time '09:30') at time zone 'America/New_York') as bar_at, ${RAW_BAR} from ${BOTH}
            join instruments i on i.id = q.instrument_id
            where i.symbol = 'S250' and i.option_type is null and q.observed_at >= ${DAY_FROM} and q.observed_at < ($1::date + 1)::timestamp at time zone 'America/New_York'
            group by 1`,
      values: [last],
      rows: 56,
    },
    {
      name: "returns of 30 minutes, one instrument, five days",
      targetMs: 20,
      view: "select * from returns('S250', '30 minutes', $1::timestamp at time zone 'America/New_York', ($2::date + 1)::timestamp at time zone 'America/New_York')",
      raw: `select date_bin('30 minutes', q.observed_at, '2026-01-01 14:30+00') as bar_at, ${RAW_BAR} from ${BOTH}
            join instruments i on i.id = q.instrument_id
            where i.symbol = 'S250' and i.option_type is null and q.observed_at >= ${DAY_FROM} and q.observed_at < ${DAY_TO} group by 1`,
      values: [fifth, last],
      rows: 13 * 5,
    },
    {
      name: "spread_stats, one instrument, five days",
      targetMs: 20,
      view: "select * from spread_stats('S250', $1::timestamp at time zone 'America/New_York', ($2::date + 1)::timestamp at time zone 'America/New_York')",
      raw: `select avg(q.ask - q.bid) from quotes q join instruments i on i.id = q.instrument_id
            where i.symbol = 'S250' and i.option_type is null and q.observed_at >= ${DAY_FROM} and q.observed_at < ${DAY_TO}`,
      values: [fifth, last],
      rows: 1,
    },
    {
      name: "implied_volatility, 10,000 contracts",
      targetMs: 1_000,
      view: `select implied_volatility('CALL', 1 + n % 97 / 10.0, 100, 100 + n % 23, 0.02 + n % 389 / 365.0, 0.04, 0.01)
             from generate_series(1, 10000) n`,
      raw: "select exp(ln(n::double precision)) from generate_series(1, 10000) n",
      values: [],
      rows: 10_000,
    },
  ];
}
