/** The pieces of files that a source has already. */
import type pg from "pg";
import { type Instant, instantOf, microsOf } from "../../clock.ts";

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
       to_char(observed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "observedAt"
     from responses
     where source_id = (select id from sources where kind = 'import' and name = $1) and request ->> 'form' = $2`,
    [name, form],
  );
  return new Map(rows.map(({ id, ...piece }) => [id, piece]));
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
