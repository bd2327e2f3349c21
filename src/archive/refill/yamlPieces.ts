/** Pieces of files with a YAML map, which nothing reads since 0.9.0: a rebuild would drop their rows. */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { someNames } from "../../ground/figures.ts";
import { EXPORT_SOURCE_ID } from "../../read/exportCall.ts";

const MOST_NAMED = 5;

/**
 * Where an export has come in since, the rows come back from that.
 *
 * @param segments of the journal that is to be read again
 * @throws QuotekeeperError BACKFILL_YAML_PIECES
 */
export async function requireNoYamlPieces(pool: pg.Pool, segments: readonly string[]): Promise<void> {
  const { rows } = await pool.query<{ file: string }>(
    `select distinct r.request ->> 'file' as file from responses r
     where r.source_id in (select id from sources where kind = 'import') and r.request ->> 'form' = 'csv'
       and r.journal_segment = any ($1)
       and not exists (select from responses e where e.source_id = $2 and e.observed_at > r.observed_at)
     order by 1`,
    [segments, EXPORT_SOURCE_ID],
  );
  if (rows.length === 0) return;
  const files = someNames(
    rows.map(({ file }) => file),
    MOST_NAMED,
  );
  throw new QuotekeeperError("BACKFILL_YAML_PIECES", `the journal holds pieces of ${files}`);
}
