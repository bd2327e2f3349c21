/** The pieces of files that a source has already. */
import type pg from "pg";
import { type Instant, instantOf, microsOf } from "../../clock.ts";
import type { LetterCount } from "../load/letterCounts.ts";
import { instantText } from "../schema/tableRows.ts";

/** Where a piece is, and how many rows it has. */
export type KnownPiece = { observedAt: Instant; segment: string; rows: number };

/** By request id. A piece holds about a thousand rows: of ten million rows these are ten thousand. */
export async function readKnownPieces(
  pool: pg.Pool,
  name: string,
  form: "csv" | "export",
): Promise<Map<string, KnownPiece>> {
  const { rows } = await pool.query<KnownPiece & { id: string }>(
    `select request_id as id, journal_segment as segment, (request ->> 'rows')::int as rows,
       ${instantText("observed_at")} as "observedAt"
     from responses
     where source_id = (select id from sources where kind = 'import' and name = $1) and request ->> 'form' = $2`,
    [name, form],
  );
  return new Map(rows.map(({ id, ...piece }) => [id, piece]));
}

/** The answers of a source within the second after each of these times. */
export async function readTimesAround(
  pool: pg.Pool,
  name: string,
  times: readonly Instant[],
): Promise<{ request_id: string; observed_at: Instant; journal_segment: string }[]> {
  const { rows } = await pool.query<{ request_id: string; observed_at: Instant; journal_segment: string }>(
    `select distinct r.request_id, r.journal_segment,
       ${instantText("r.observed_at")} as observed_at
     from unnest($1::timestamptz[]) as w (time)
     cross join lateral (
       select r.request_id, r.observed_at, r.journal_segment from responses r
       where r.source_id = (select id from sources where kind = 'import' and name = $2)
         and r.observed_at >= w.time and r.observed_at < w.time + interval '1 second'
     ) r`,
    [times, name],
  );
  return rows;
}

/** Times of import that no piece of the source has yet, ascending: each names its piece, whatever clocks do. */
export function timesBehind(known: ReadonlyMap<string, KnownPiece>, observe: () => Instant): () => Instant {
  let last: Instant = [...known.values()].reduce(
    (max, { observedAt }) => (observedAt > max ? observedAt : max),
    "",
  );
  return () => {
    const now = observe();
    last = now > last ? now : instantOf(microsOf(last) + 1n);
    return last;
  };
}

// What became of answers in the archive, whoever loaded them.

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
    named.map(({ observedAt }) => observedAt),
    named.map(({ symbol }) => symbol),
    answers.map(({ observedAt }) => observedAt),
    answers.map(({ requestId }) => requestId),
  ]);
  return new Map(rows.map((row) => [row.place, row]));
}
