/**
 * The statements that put rows into the archive. Quotes that are new go by COPY (copyQuotes.ts); everything else travels
 * as arrays of text and is unnested there. Rows come in the order of their keys, so that two loaders at once never wait for each
 * other crosswise; statements are prepared once per connection.
 */
import type pg from "pg";
import type { Instant } from "../clock.ts";
import {
  EXTENDED_QUOTES,
  hasExtended,
  inKeyOrder,
  type PlacedUnit,
  QUOTES,
  type QuoteTable,
} from "../read/quoteColumns.ts";
import { headerColumns } from "../read/answerToRows.ts";
import type { AnswerRows, DeadLetter, InstrumentRow } from "../read/rowTypes.ts";

/** Text for a `text` column, which cannot hold the character 0. */
function clean(text: string | null | undefined): string | null {
  return text?.replaceAll("\u0000", "\u{FFFD}") ?? null;
}

/** An answer whose source is known to the archive. */
export type SourcedAnswer = AnswerRows & { sourceId: number };

/** A row of `responses`. */
export type ResponseRow = {
  observedAt: Instant;
  sourceId: number;
  requestId: string;
  requestedAt: Instant;
  job: string | null;
  /** JSON. */
  request: string;
  status: number;
  outcome: string;
  responseId: string | null;
  headers: ReturnType<typeof headerColumns>;
  bodyBytes: number;
  position: { segment: string; offset: number };
};

/** The row of an answer; it does not hold on to the answer's body. */
export function responseRow({ record, answer, position, sourceId }: SourcedAnswer): ResponseRow {
  const { observedAt, requestId, requestedAt, jobs, request, status, body } = record;
  return {
    ...{ observedAt, sourceId, requestId, requestedAt, status, position },
    job: clean(jobs.join(",")) || null,
    request: JSON.stringify(request),
    outcome: answer.outcome,
    responseId: clean(answer.outcome === "quotes" ? answer.document.id : answer.responseId),
    headers: headerColumns(record),
    bodyBytes: body.byteLength,
  };
}

/** @returns how many answers were not there before */
export async function insertResponses(
  client: pg.ClientBase,
  unordered: readonly ResponseRow[],
): Promise<number> {
  if (unordered.length === 0) return 0;
  const rows = unordered.toSorted((a, b) => (responseKey(a) < responseKey(b) ? -1 : 1));
  const { rowCount } = await client.query({
    name: "insert responses",
    text: `insert into responses (observed_at, source_id, request_id, requested_at, job, request, http_status, outcome,
       response_id, server_date, rate_limit_used, rate_limit_remaining, rate_limit_limit, rate_limit_expire,
       body_bytes, journal_segment, journal_offset)
     select * from unnest($1::timestamptz[], $2::smallint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::jsonb[],
       $7::smallint[], $8::text[], $9::text[], $10::timestamptz[], $11::int[], $12::int[], $13::int[], $14::numeric[],
       $15::int[], $16::text[], $17::bigint[])
     on conflict do nothing`,
    values: [
      rows.map(({ observedAt }) => observedAt),
      rows.map(({ sourceId }) => sourceId),
      rows.map(({ requestId }) => requestId),
      rows.map(({ requestedAt }) => requestedAt),
      rows.map(({ job }) => job),
      rows.map(({ request }) => request),
      rows.map(({ status }) => status),
      rows.map(({ outcome }) => outcome),
      rows.map(({ responseId }) => responseId),
      rows.map(({ headers }) => headers.serverDate),
      rows.map(({ headers }) => headers.used),
      rows.map(({ headers }) => headers.remaining),
      rows.map(({ headers }) => headers.limit),
      rows.map(({ headers }) => headers.expire),
      rows.map(({ bodyBytes }) => bodyBytes),
      rows.map(({ position }) => position.segment),
      rows.map(({ position }) => position.offset),
    ],
  });
  return rowCount ?? 0;
}

function responseKey({ observedAt, sourceId, requestId }: ResponseRow): string {
  return `${observedAt} ${sourceId} ${requestId}`;
}

/** A way of putting units into `quotes` and `extended_quotes`; gives how many were not there before. */
export type InsertQuotes = (client: pg.ClientBase, units: readonly PlacedUnit[]) => Promise<number>;

/** By `insert`, passing over those that are there. */
export const mergeQuotes: InsertQuotes = async (client, units) => {
  const ordered = inKeyOrder(units);
  const quotes = await mergeInto(client, QUOTES, ordered);
  await mergeInto(client, EXTENDED_QUOTES, ordered.filter(hasExtended));
  return quotes;
};

async function mergeInto(
  client: pg.ClientBase,
  { name, columns }: QuoteTable,
  units: readonly PlacedUnit[],
): Promise<number> {
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`);
  const { rowCount } = await client.query({
    name: `merge ${name}`,
    text: `insert into ${name} (${columns.map((column) => column.name).join(", ")})
      select * from unnest(${arrays.join(", ")}) on conflict do nothing`,
    values: columns.map(({ text }) => units.map(text)),
  });
  return rowCount ?? 0;
}

/**
 * Takes out what an earlier load of these answers has set aside and this one has not: what could not be stored then is
 * stored now, or is set aside for another reason. Letters of another answer that bears the same time stay.
 *
 * @param letters all that is set aside now
 */
export async function dropOldLetters(
  client: pg.ClientBase,
  answers: readonly SourcedAnswer[],
  letters: readonly (DeadLetter & { sourceId: number })[],
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
      answers.map(({ record }) => record.observedAt),
      answers.map(({ sourceId }) => sourceId),
      answers.map(({ record }) => record.requestId),
      letters.map(({ observedAt }) => observedAt),
      letters.map(({ sourceId }) => sourceId),
      letters.map(({ ordinal }) => ordinal),
      letters.map(({ instrument }) => clean(instrument) ?? ""),
      letters.map(({ reason }) => reason),
      letters.map(({ detail }) => clean(detail)),
    ],
  );
}

/** @returns how many dead letters were not there before */
export async function insertDeadLetters(
  client: pg.ClientBase,
  unordered: readonly (DeadLetter & { sourceId: number })[],
): Promise<number> {
  if (unordered.length === 0) return 0;
  const letters = unordered.toSorted(
    (a, b) =>
      (a.observedAt < b.observedAt ? -1 : a.observedAt > b.observedAt ? 1 : 0) ||
      a.sourceId - b.sourceId ||
      a.ordinal - b.ordinal,
  );
  const { rowCount } = await client.query(
    `insert into dead_letters (observed_at, source_id, ordinal, instrument, reason, detail, fragment)
     select * from unnest($1::timestamptz[], $2::smallint[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
     on conflict do nothing`,
    [
      letters.map(({ observedAt }) => observedAt),
      letters.map(({ sourceId }) => sourceId),
      letters.map(({ ordinal }) => ordinal),
      letters.map(({ instrument }) => clean(instrument)),
      letters.map(({ reason }) => reason),
      letters.map(({ detail }) => clean(detail)),
      letters.map(({ fragment }) => clean(fragment)),
    ],
  );
  return rowCount ?? 0;
}

/** Columns of `instruments` as parallel arrays, for unnest. */
export function instrumentColumns(rows: readonly InstrumentRow[]): (string | null)[][] {
  return [
    rows.map(({ securityType }) => clean(securityType)),
    rows.map(({ symbol }) => clean(symbol)),
    rows.map(({ expiration }) => expiration),
    rows.map(({ optionType }) => optionType),
    rows.map(({ strike }) => strike),
    rows.map(({ exchange }) => clean(exchange)),
    rows.map(({ description }) => clean(description)),
    rows.map(({ contractSize }) => contractSize),
  ];
}
