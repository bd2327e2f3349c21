/**
 * The statements that put rows into the archive. Quotes that are new go by COPY; everything else travels as arrays of
 * text and is unnested there. Rows come in the order of their keys, so that two loaders at once never wait for each
 * other crosswise; statements are prepared once per connection.
 */
import type pg from "pg";
import { copyInto, copyText } from "./copy.ts";
import type { Instant } from "../instant.ts";
import {
  compareKeys,
  EXTENDED_QUOTES,
  inKeyOrder,
  inTimeOrder,
  type Key,
  type PlacedUnit,
  QUOTES,
  type QuoteTable,
} from "./quoteColumns.ts";
import type { DividendData } from "../quotes-api/document.ts";
import type { AnswerRows, DeadLetter, InstrumentRow } from "./rows.ts";
import { dividendOf, headerColumns } from "./rows.ts";

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

/**
 * By COPY, for units that are new.
 *
 * @throws 23505 when one of them is there already
 */
export const copyQuotes: InsertQuotes = async (client, units) => {
  const ordered = inKeyOrder(units);
  const quotes = await copyInto(client, copySql(QUOTES), copyLines(QUOTES, ordered));
  await copyInto(client, copySql(EXTENDED_QUOTES), copyLines(EXTENDED_QUOTES, ordered));
  return quotes;
};

function copySql({ name, columns }: QuoteTable): string {
  return `copy ${name} (${columns.map((column) => column.name).join(", ")}) from stdin`;
}

function* copyLines(table: QuoteTable, units: readonly PlacedUnit[]): Generator<string> {
  for (const unit of units) yield copyLine(table, unit);
}

function copyLine({ columns }: QuoteTable, unit: PlacedUnit): string {
  // Joined, not added up: the line is one text then, and holds none of its parts.
  return `${columns.map(({ text }) => copyText(text(unit))).join("\t")}\n`;
}

/** A unit as COPY takes it: a line for each table. It does not hold on to the unit. */
export type QuoteLines = Key & { quote: string; extended: string };

/** The lines of a unit. */
export function quoteLines(placed: PlacedUnit): QuoteLines {
  const { unit, instrumentId, sourceId } = placed;
  return {
    instrumentId,
    sourceId,
    observedAt: unit.observedAt,
    quote: copyLine(QUOTES, placed),
    extended: copyLine(EXTENDED_QUOTES, placed),
  };
}

/**
 * Copies lines, in the order of the tables' keys.
 *
 * @throws 23505 when one of them is there already
 */
export async function copyQuoteLines(client: pg.ClientBase, lines: readonly QuoteLines[]): Promise<void> {
  if (lines.length === 0) return;
  const ordered = linesInKeyOrder(lines);
  const linesOf = function* (part: "quote" | "extended"): Generator<string> {
    for (const line of ordered) yield line[part];
  };
  await copyInto(client, copySql(QUOTES), linesOf("quote"));
  await copyInto(client, copySql(EXTENDED_QUOTES), linesOf("extended"));
}

/** They come in the order of time: to gather each instrument's is faster than to sort them all. */
function linesInKeyOrder(lines: readonly QuoteLines[]): QuoteLines[] {
  const series = new Map<number, QuoteLines[]>();
  for (const line of lines) {
    const one = series.get(line.instrumentId);
    if (one) one.push(line);
    else series.set(line.instrumentId, [line]);
  }
  const ids = Int32Array.from(series.keys()).sort();
  return Array.from(ids).flatMap((id) => (series.get(id) ?? []).sort(compareKeys));
}

/** By `insert`, passing over those that are there. */
export const mergeQuotes: InsertQuotes = async (client, units) => {
  const ordered = inKeyOrder(units);
  const quotes = await mergeInto(client, QUOTES, ordered);
  await mergeInto(client, EXTENDED_QUOTES, ordered);
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

/** A dividend as one quote tells it. */
export type DividendRow = {
  observedAt: Instant;
  instrumentId: number;
  sourceId: number;
  dividend: DividendData;
};

/**
 * A dividend is stored when it is first seen or differs from the last one before it: the previous one of the same
 * batch, or else the newest in the archive.
 */
export async function insertDividends(client: pg.ClientBase, given: readonly DividendRow[]): Promise<number> {
  if (given.length === 0) return 0;
  const { rowCount } = await client.query({
    name: "insert dividends",
    text: `with given as (
       select *, row_number() over w as place,
              lag((ex_date, amount, yield)) over w as before
       from unnest($1::timestamptz[], $2::int[], $3::smallint[], $4::date[], $5::numeric[], $6::numeric[])
         as given (observed_at, instrument_id, source_id, ex_date, amount, yield)
       window w as (partition by instrument_id, source_id order by observed_at)
     )
     insert into dividends (observed_at, instrument_id, source_id, ex_date, amount, yield)
     select g.observed_at, g.instrument_id, g.source_id, g.ex_date, g.amount, g.yield
     from given g
     left join lateral (
       select true as found, d.ex_date, d.amount, d.yield
       from dividends d
       where d.instrument_id = g.instrument_id and d.source_id = g.source_id and d.observed_at < g.observed_at
       order by d.observed_at desc
       limit 1
     ) kept on g.place = 1
     where case
             when g.place > 1 then g.before is distinct from (g.ex_date, g.amount, g.yield)
             when kept.found then (kept.ex_date, kept.amount, kept.yield) is distinct from (g.ex_date, g.amount, g.yield)
             else true
           end
     order by g.instrument_id, g.observed_at, g.source_id
     on conflict do nothing`,
    values: [
      given.map(({ observedAt }) => observedAt),
      given.map(({ instrumentId }) => instrumentId),
      given.map(({ sourceId }) => sourceId),
      given.map(({ dividend }) => dividend.exDate),
      given.map(({ dividend }) => dividend.amount),
      given.map(({ dividend }) => dividend.yield),
    ],
  });
  return rowCount ?? 0;
}

/** What was said last of the dividend of each series, an instrument from a source. */
export type LastDividends = Map<number, DividendRow>;

/**
 * The dividends without those that say, to the letter, what the one before them says: nearly all, and what is left
 * is for the database to compare as numbers.
 *
 * @param last of the units before; grows
 */
export function changedDividends(
  units: readonly PlacedUnit[],
  last: LastDividends = new Map(),
): DividendRow[] {
  const changed: DividendRow[] = [];
  for (const { unit, instrumentId, sourceId } of inTimeOrder(units)) {
    const dividend = dividendOf(unit.quote);
    if (dividend === null) continue;
    const row = { observedAt: unit.observedAt, instrumentId, sourceId, dividend };
    const series = instrumentId * SOURCES + sourceId;
    if (!sameText(last.get(series)?.dividend, dividend)) changed.push(row);
    last.set(series, row);
  }
  return changed;
}

/** More than there are numbers of sources: with it, instrument and source are one number. */
const SOURCES = 2 ** 16;

function sameText(a: DividendData | undefined, b: DividendData): boolean {
  return a !== undefined && a.amount === b.amount && a.exDate === b.exDate && a.yield === b.yield;
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
