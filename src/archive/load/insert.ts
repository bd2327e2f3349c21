/**
 * Stores the rows of answers beside quotes: responses and dead letters. They come in the order of their keys, so that two loaders
 * at once never wait for each other crosswise.
 */
import type pg from "pg";
import { deadLetters, responses } from "../schema/schema.ts";
import { clean, inArrays, insertAll } from "../schema/tableRows.ts";
import { headerColumns } from "../../read/answerToRows.ts";
import type { AnswerRows, DeadLetter } from "../../read/rowTypes.ts";

export type SourcedAnswer = AnswerRows & { sourceId: number };

type ResponseRow = typeof responses.$inferSelect;

export function responseRow({
  record,
  answer,
  position,
}: Pick<AnswerRows, "record" | "answer" | "position">): Omit<ResponseRow, "sourceId" | "accountId"> {
  const { observedAt, requestId, requestedAt, jobs, request, status, body } = record;
  return {
    observedAt,
    requestId,
    requestedAt,
    request,
    httpStatus: status,
    job: clean(jobs.join(",")) || null,
    outcome: answer.outcome,
    responseId: clean(answer.outcome === "quotes" ? answer.document.id : answer.responseId),
    ...headerColumns(record),
    bodyBytes: body.byteLength,
    journalSegment: position.segment,
    journalOffset: position.offset,
    hasMore: answer.outcome === "quotes" && answer.document.nextPage !== undefined ? true : null,
  };
}

/** @returns how many answers were not there before */
export function insertResponses(client: pg.ClientBase, rows: readonly ResponseRow[]): Promise<number> {
  const keyOf = ({ observedAt, sourceId, requestId }: ResponseRow): string =>
    `${observedAt} ${sourceId} ${requestId}`;
  return insertAll(client, responses, inOrder(rows, keyOf));
}

function inOrder<T>(rows: readonly T[], keyOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

export type SourcedLetter = DeadLetter & { sourceId: number };

/**
 * Takes out what an earlier load of these answers has set aside and this one has not: what could not be stored then is
 * stored now, or is set aside for another reason. Letters of another answer that bears the same time stay.
 *
 * @param answers their rows of `responses`
 * @param letters all that is set aside now
 */
export async function dropOldLetters(
  client: pg.ClientBase,
  answers: readonly ResponseRow[],
  letters: readonly SourcedLetter[],
): Promise<void> {
  await client.query(
    `delete from dead_letters d
     using unnest($1::timestamptz[], $2::smallint[], $3::uuid[]) as a (observed_at, source_id, request_id)
     where d.observed_at = a.observed_at and d.source_id = a.source_id and d.ordinal >= 0
       and not exists (
         select from responses r
         where r.observed_at = a.observed_at and r.source_id = a.source_id and r.request_id <> a.request_id)
       and (d.observed_at, d.source_id, d.ordinal, coalesce(d.instrument, ''), d.reason, d.detail) not in (
         select * from unnest($4::timestamptz[], $5::smallint[], $6::int[], $7::text[], $8::text[], $9::text[]))`,
    [
      ...inArrays(answers, "observedAt", "sourceId", "requestId"),
      ...inArrays(letters, "observedAt", "sourceId", "ordinal"),
      letters.map(({ instrument }) => clean(instrument) ?? ""),
      letters.map(({ reason }) => reason),
      letters.map(({ detail }) => clean(detail)),
    ],
  );
}

/** @returns how many dead letters were not there before */
export function insertDeadLetters(client: pg.ClientBase, letters: readonly SourcedLetter[]): Promise<number> {
  const keyOf = ({ observedAt, sourceId, ordinal }: SourcedLetter): string =>
    `${observedAt} ${sourceId} ${ordinal}`;
  const rows = inOrder(letters, keyOf).map((letter) => ({
    ...letter,
    instrument: clean(letter.instrument),
    detail: clean(letter.detail) ?? "",
    fragment: clean(letter.fragment),
  }));
  return insertAll(client, deadLetters, rows);
}
