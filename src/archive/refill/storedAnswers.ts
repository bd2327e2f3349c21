/** What became of answers in the archive, in whatever way they were loaded. */
import type pg from "pg";
import type { Instant } from "../../clock.ts";
import type { LetterCount } from "../load/letterCounts.ts";
import { inArrays } from "../schema/tableRows.ts";

/** An answer of the journal, and the symbols of its quotes. */
export type AskedAnswer = { requestId: string; observedAt: Instant; symbols: string[] };

/** What the archive has of the answer at a place of the list. */
export type StoredAnswer = {
  place: number;
  quotes: number;
  dividends: number;
  /** The first of its quotes that the database refused. */
  refused: Omit<LetterCount, "count">;
};

/** By instrument and time, as the keys have it: by time alone the whole month would be read. */
const STORED = `
  with asked as materialized (
    select distinct t.observed_at, i.id
    from unnest($1::timestamptz[], $2::text[]) as t(observed_at, symbol)
    join instruments i on i.symbol = t.symbol
  ), found_quotes as (
    select q.observed_at, q.source_id, count(*) as n from asked a
    join quotes q on q.instrument_id = a.id and q.observed_at = a.observed_at group by 1, 2
  ), found_dividends as (
    select d.observed_at, d.source_id, count(*) as n from asked a
    join dividends d on d.instrument_id = a.id and d.observed_at = a.observed_at group by 1, 2
  )
  select (e.place - 1)::int as place, coalesce(q.n, 0)::int as quotes, coalesce(d.n, 0)::int as dividends,
    (select json_build_object('reason', coalesce(min(l.reason), 'refused_by_database'),
       'example', coalesce(min(l.instrument || ': ' || l.detail), ''))
     from dead_letters l
     where l.observed_at = r.observed_at and l.source_id = r.source_id and l.reason = 'refused_by_database') as refused
  from unnest($3::timestamptz[], $4::uuid[]) with ordinality as e(observed_at, request_id, place)
  join responses r on r.observed_at = e.observed_at and r.request_id = e.request_id
  left join found_quotes q on q.observed_at = r.observed_at and q.source_id = r.source_id
  left join found_dividends d on d.observed_at = r.observed_at and d.source_id = r.source_id`;

/** By the place of each answer; one that the archive has not is left out. */
export async function readStoredAnswers(
  pool: pg.Pool,
  answers: readonly AskedAnswer[],
): Promise<Map<number, StoredAnswer>> {
  const named = answers.flatMap(({ observedAt, symbols }) =>
    symbols.map((symbol) => ({ observedAt, symbol })),
  );
  const { rows } = await pool.query<StoredAnswer>(STORED, [
    ...inArrays(named, "observedAt", "symbol"),
    ...inArrays(answers, "observedAt", "requestId"),
  ]);
  return new Map(rows.map((row) => [row.place, row]));
}
