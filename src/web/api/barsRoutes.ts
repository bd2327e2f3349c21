/** The routes that the instrument's chart is drawn from: bars, what is missing between them, and both as a file. */
import type pg from "pg";
import { z } from "zod";
import { readBars } from "../../archive/ask/bars.ts";
import { readMissedBars } from "../../archive/ask/missedBars.ts";
import { INTERVALS } from "../../archive/ask/widths.ts";
import { barsCsv } from "./barsFile.ts";
import { csvName, sendCsv } from "./csvText.ts";
import { INDICATORS, indicatorsOf } from "./indicators.ts";
import { MOST_COMPARED, splitNames } from "./nameList.ts";
import { date, flag, type Get, id, name } from "./queryFields.ts";

const inOrder = ({ from, to }: { from?: string | undefined; to?: string | undefined }): boolean =>
  from === undefined || to === undefined || from <= to;

const barsFields = z.object({
  instrument: id.describe("id of the instrument"),
  source: id.describe("id of the source"),
  delayed: flag,
  interval: z.enum(INTERVALS).default("1m"),
  sessions: z.coerce.number().int().min(1).max(10_000).default(1).describe("newest dates with quotes"),
  from: date.optional().describe("in place of sessions: the first date"),
  to: date.optional().describe("in place of sessions: the last date"),
  compare: z
    .string()
    .default("")
    .transform((text) => (text === "" ? [] : [...new Set(splitNames(text))]))
    .pipe(z.array(name).max(MOST_COMPARED))
    .describe("names of other instruments, with commas between; one within a name has a backslash before it"),
  indicators: z
    .string()
    .regex(INDICATORS, "expected vwap, spread, sma20 or ema20")
    .default("")
    .transform(indicatorsOf),
});

const barsQuery = barsFields.refine(inOrder, "from is later than to");

const missedQuery = barsFields
  .pick({ instrument: true, source: true, interval: true })
  .extend({ from: date, to: date })
  .refine(inOrder, "from is later than to");

export function addBars(get: Get, pool: pg.Pool): void {
  get("/api/bars", barsQuery, (query) => bars(pool, query));
  get("/api/bars/misses", missedQuery, (query) => readMissedBars(pool, query));
  get("/api/bars.csv", barsQuery, async (query, reply) => {
    const view = await bars(pool, query);
    const [from, to] = [view.bars[0]?.date, view.bars.at(-1)?.date];
    const { misses } =
      from === undefined || to === undefined
        ? { misses: [] }
        : await readMissedBars(pool, { ...query, interval: view.interval, from, to });
    const name = csvName([view.instrument, view.interval], view.source);
    return sendCsv(reply, { name, text: barsCsv(view, { misses, indicators: query.indicators }) });
  });
}

function bars(pool: pg.Pool, query: z.infer<typeof barsQuery>): ReturnType<typeof readBars> {
  const { instrument, source, delayed, interval, sessions, from, to, compare } = query;
  const dates =
    from === undefined && to === undefined ? null : { from: from ?? "0001-01-01", to: to ?? "9999-12-31" };
  return readBars(
    pool,
    { instrumentId: instrument, sourceId: source, delayed },
    { interval, sessions, dates, compare },
  );
}
