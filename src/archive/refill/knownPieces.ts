/** The pieces of files that a source has already. */
import type pg from "pg";
import { type Instant, instantOf, microsOf } from "../../ground/clock.ts";
import { instantText } from "../schema/tableRows.ts";

export type KnownPiece = { observedAt: Instant; segment: string; rows: number };

/** By request id; of no database none. A piece holds about a thousand rows: of ten million rows these are ten thousand. */
export async function readKnownPieces(
  pool: pg.Pool | null,
  name: string,
  form: "plain" | "export",
): Promise<Map<string, KnownPiece>> {
  if (pool === null) return new Map();
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
