/** Takes the rows of answers out of the archive, so that they can be put in anew in the same transaction. */
import type pg from "pg";
import type { AnswerRows } from "../../archive/rows.ts";

/** Tables whose rows bear an answer's time and source, the one that is counted first. */
const TABLES = ["quotes", "extended_quotes", "dividends", "dead_letters"] as const;

/**
 * Only what these answers became: rows of another answer that bears the same time stay, and so does whatever has no
 * answer in this journal. `session_bars` is for the caller to recompute.
 *
 * @returns how many quotes were taken out
 */
export async function removeAnswers(client: pg.ClientBase, answers: readonly AnswerRows[]): Promise<number> {
  await client.query(
    `create temp table if not exists removed_answers (observed_at timestamptz, source_id smallint) on commit delete rows`,
  );
  await client.query("truncate removed_answers");
  await client.query(
    `with given as (
       select w.observed_at, s.id as source_id, w.request_id
       from unnest($1::timestamptz[], $2::text[], $3::text[], $4::uuid[]) as w (observed_at, kind, name, request_id)
       join sources s on s.kind = w.kind and s.name = w.name
     ), gone as (
       delete from responses r using given g
       where r.observed_at = g.observed_at and r.source_id = g.source_id and r.request_id = g.request_id
     )
     insert into removed_answers
     select g.observed_at, g.source_id from given g
     where not exists (
       select from responses r
       where r.observed_at = g.observed_at and r.source_id = g.source_id and r.request_id <> g.request_id
     )`,
    [
      answers.map(({ record }) => record.observedAt),
      answers.map(({ record }) => record.source.kind),
      answers.map(({ record }) => record.source.name),
      answers.map(({ record }) => record.requestId),
    ],
  );
  await client.query("analyze removed_answers");
  const [from, to] = boundsOf(answers.map(({ record }) => record.observedAt));
  let quotes = 0;
  for (const table of TABLES) {
    // The bounds let the server pass over the partitions of other times.
    const { rowCount } = await client.query(
      `delete from ${table} t using removed_answers r
       where t.observed_at = r.observed_at and t.source_id = r.source_id and t.observed_at between $1 and $2`,
      [from, to],
    );
    if (table === "quotes") quotes = rowCount ?? 0;
  }
  return quotes;
}

function boundsOf(times: readonly string[]): [string, string] {
  const sorted = times.toSorted();
  return [sorted[0] ?? "infinity", sorted.at(-1) ?? "-infinity"];
}
