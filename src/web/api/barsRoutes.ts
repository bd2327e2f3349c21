/** The routes that the instrument's chart is drawn from: bars, what is missing between them, and both as a file. */
import type pg from "pg";
import { z } from "zod";
import { readBars } from "../../archive/ask/bars.ts";
import { readMissedBars } from "../../archive/ask/missedBars.ts";
import { INTERVALS } from "../../archive/ask/widths.ts";
import { barsCsv } from "./barsFile.ts";
import { CsvFile, csvName } from "./csvText.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { inWhole, type newsRoutes } from "./news.ts";
import { date, flag, type Get, id } from "./queryFields.ts";

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
});

const barsQuery = barsFields.refine(inOrder, "from is later than to");

const missedQuery = barsFields
  .pick({ instrument: true, source: true, interval: true })
  .extend({ from: date, to: date })
  .refine(inOrder, "from is later than to");

/** How old a count of misses may be, ms. */
const MISSES_FRESH_MS = 10_000;

export function addBars(get: Get, view: ReturnType<typeof newsRoutes>, pool: pg.Pool): void {
  view("/api/bars", barsQuery, {
    ofAnswers: true,
    // What is new changes the bars of its date, and of no earlier one.
    read: (query, since) => bars(pool, query, since === null ? null : exchangeDate(new Date(since))),
  });
  view("/api/bars/misses", missedQuery, {
    read: (query) => inWhole(readMissedBars(pool, query)),
    freshMs: MISSES_FRESH_MS,
  });
  get("/api/bars.csv", barsQuery, async (query) => {
    const { view: all } = await bars(pool, query, null);
    const [from, to] = [all.bars[0]?.date, all.bars.at(-1)?.date];
    const { misses } =
      from === undefined || to === undefined
        ? { misses: [] }
        : await readMissedBars(pool, { ...query, interval: all.interval, from, to });
    return new CsvFile(csvName([all.instrument, all.interval], all.source), barsCsv(all, misses));
  });
}

function bars(
  pool: pg.Pool,
  { instrument, source, delayed, from, to, ...rest }: z.infer<typeof barsQuery>,
  since: string | null,
): ReturnType<typeof readBars> {
  const dates =
    from === undefined && to === undefined ? null : { from: from ?? "0001-01-01", to: to ?? "9999-12-31" };
  return readBars(pool, { instrumentId: instrument, sourceId: source, delayed }, { ...rest, dates, since });
}
