/**
 * How much of the journal the archive has loaded, as a mark that a page gives back with its next question. So a page learns of rows by
 * when they were loaded, and not by when they were observed: of a backlog that comes late, and of another collector's too.
 */
import type { Queryable } from "../connect/transaction.ts";
import { jsonText } from "../../ground/outsideText.ts";
import { segmentHour } from "../../journal/segmentName.ts";
import { isoOf } from "./queries.ts";

/**
 * `heads`: how far the segments that were loaded last are loaded, in bytes, by the ends of their names, which are chance. `rest`: a
 * digest of all other segments.
 */
export type LoadMark = { rest: string; heads: ReadonlyMap<string, number> };

/** The mark of now, with the names of its segments. */
export type NewestMark = LoadMark & { segments: ReadonlyMap<string, string> };

/** Segments that are told apart: each collector has one an hour. */
const MOST_HEADS = 12;

/** Signs of a segment's name that stand for it. */
const NAME_END = 12;

/** Forms of calls whose rows are those of the moment. What was imported may be of any time. */
const OF_THE_MOMENT = ["symbols", "watchlist", "option", "chain", "expirations"];

const HOUR_MS = 3_600_000;

/** By so much a clock may be set between a segment's beginning and its rows, in hours. */
const HOURS_AROUND = 3;

export async function readLoadMark(pool: Queryable): Promise<NewestMark> {
  const { rows } = await pool.query<{ segment: string | null; to: number; rest: string | null }>(
    `with placed as (
       select *, row_number() over (order by loaded_at desc, segment) as place from journal_positions
     )
     select segment, loaded_to::float8 as to, null as rest from placed where place <= ${MOST_HEADS}
     union all
     select null, 0, left(md5(string_agg(concat_ws(' ', segment, loaded_to, loaded_at), ',' order by segment)), 8)
     from placed where place > ${MOST_HEADS}`,
  );
  const heads = rows.flatMap(({ segment, to }) => (segment === null ? [] : [{ segment, to }]));
  return {
    rest: rows.find(({ segment }) => segment === null)?.rest ?? "",
    heads: new Map(heads.map(({ segment, to }) => [endOf(segment), to])),
    segments: new Map(heads.map(({ segment }) => [endOf(segment), segment])),
  };
}

const endOf = (segment: string): string => segment.slice(-NAME_END);

/** The mark as text, without a sign that an address would have to escape. */
export function textOfMark({ rest, heads }: LoadMark): string {
  return [rest, ...[...heads].sort().map(([end, to]) => `${end}.${to}`)].join("~");
}

/** @returns null: that is no mark */
export function markOfText(text: string): LoadMark | null {
  if (!/^[0-9a-f]*(~[0-9a-f]{12}\.\d{1,15})*$/.test(text)) return null;
  const [rest = "", ...heads] = text.split("~");
  const headOf = (head: string): [string, number] => [
    head.slice(0, NAME_END),
    Number(head.slice(NAME_END + 1)),
  ];
  return { rest, heads: new Map(heads.map(headOf)) };
}

/**
 * When the oldest answer was observed that was loaded between two marks, ISO 8601: what was observed before it is not new.
 *
 * @returns `never`: no answer was loaded; null: it cannot be told, and everything may be new
 */
export async function observedSince(
  pool: Queryable,
  before: LoadMark,
  now: NewestMark,
): Promise<string | "never" | null> {
  const isSame = before.rest === now.rest && [...before.heads.keys()].every((end) => now.heads.has(end));
  const moved = [...now.segments].flatMap(([end, segment]) => {
    const [from, to] = [before.heads.get(end) ?? 0, now.heads.get(end) ?? 0];
    return from === to ? [] : [{ segment, from, to, hour: segmentHour(segment) }];
  });
  if (!isSame || moved.some(({ from, to, hour }) => to < from || hour === null)) return null;
  if (moved.length === 0) return "never";
  const begun = (Math.min(...moved.map(({ hour }) => hour ?? 0)) - HOURS_AROUND) * HOUR_MS;
  const { rows } = await pool.query<{ at: string | null; strange: boolean | null }>(
    `select min(r.observed_at) as at, bool_or(not r.request ->> 'form' = any ($2)) as strange
     from responses r join json_to_recordset($1) as m (segment text, "from" bigint)
       on m.segment = r.journal_segment and r.journal_offset >= m."from"
     where r.observed_at >= $3`,
    [jsonText(moved), OF_THE_MOMENT, new Date(begun).toISOString()],
  );
  const { at = null, strange = false } = rows[0] ?? {};
  if (strange === true) return null;
  return at === null ? "never" : isoOf(at);
}
