/** The questions, each asked of its view and of the raw tables. */
import { CONTRACTS, EXPIRED, INSTRUMENTS } from "./market.ts";

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
  return [
    {
      name: `latest_quotes, ${INSTRUMENTS + CONTRACTS + EXPIRED} instruments`,
      targetMs: 60,
      view: "select * from latest_quotes",
      raw: `select distinct on (q.instrument_id, q.source_id, q.delayed) q.*, e.volume from ${BOTH}
            order by q.instrument_id, q.source_id, q.delayed, q.observed_at desc`,
      values: [],
      rows: INSTRUMENTS + CONTRACTS + EXPIRED,
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
  ];
}
