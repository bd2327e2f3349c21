/**
 * How a view asks again. Each answer has a cursor, and a question that gives it back as `since` is answered with what is new. The cursor
 * says what the archive had loaded. Nothing is read where that is the same.
 */
import type pg from "pg";
import { z } from "zod";
import {
  type LoadMark,
  markOfText,
  type NewestMark,
  observedSince,
  readLoadMark,
  textOfMark,
} from "../../archive/ask/loadMark.ts";
import type { Clock } from "../../ground/clock.ts";
import { rememberAnswers } from "./rememberAnswers.ts";
import type { News } from "./types.ts";

/** Adds a route whose answer is JSON, unless it is a `CsvFile`. `schema` null: it takes no query. */
export type Get = <Schema extends z.ZodType>(
  path: string,
  schema: Schema | null,
  answer: (query: z.infer<Schema>) => Promise<unknown>,
) => void;

/** What the archive has loaded is asked for once for all pages within so many ms. */
const MARK_FRESH_MS = 1_000;

/** What was observed longer ago, ms, comes with all the rest. */
const LONGEST_AGO_MS = 3_600_000;

type ViewResult = { view: unknown; whole: boolean };

type ViewOptions<Query> = {
  /** @param since only what was observed from then on is wanted, ISO 8601; null: all of it */
  read: (query: Query, since: string | null) => Promise<ViewResult>;
  /** Whether nothing but new answers can change it. */
  ofAnswers?: boolean;
  /** How long one answer serves all who ask the same, ms: for what takes long to read. Such an answer is always whole. */
  freshMs?: number;
};

const sinceField = z.object({ since: z.string().max(1_000).optional() });

export function newsRoutes(get: Get, pool: pg.Pool, clock: Clock) {
  const marks = rememberAnswers(clock, MARK_FRESH_MS);
  const newestMark = (): Promise<NewestMark> => marks("", () => readLoadMark(pool));

  const observedFrom = async (
    before: LoadMark | null,
    mark: NewestMark,
  ): Promise<string | "never" | null> => {
    const at = before && (await observedSince(pool, before, mark));
    const isLong = at !== null && at !== "never" && clock.now().getTime() - Date.parse(at) > LONGEST_AGO_MS;
    return isLong ? null : at;
  };

  return <Schema extends z.ZodType<object>>(
    path: string,
    schema: Schema,
    { read, ofAnswers = false, freshMs = 0 }: ViewOptions<z.infer<Schema>>,
  ): void => {
    const remember = rememberAnswers(clock, freshMs);
    get(path, schema.and(sinceField), async (asked): Promise<News<unknown>> => {
      const { since, ...rest } = asked as { since?: string };
      const query = rest as z.infer<Schema>;
      const mark = await newestMark();
      const cursor = textOfMark(mark);
      const same = (at: string): News<unknown> => ({ cursor: at, whole: false, view: null });
      if (cursor === since) return same(cursor);
      if (freshMs > 0) {
        const readAll = async (): Promise<News<unknown>> => ({ cursor, ...(await read(query, null)) });
        const known = await remember(JSON.stringify(query), readAll);
        return known.cursor === since ? same(since) : known;
      }
      const from = await observedFrom(since === undefined ? null : markOfText(since), mark);
      if (from === "never" && ofAnswers) return same(cursor);
      return { cursor, ...(await read(query, from === "never" ? null : from)) };
    });
  };
}

export async function inWhole<View>(view: Promise<View>): Promise<{ view: View; whole: true }> {
  return { view: await view, whole: true };
}
