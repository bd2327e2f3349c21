/** Dividends, of which a row is kept for each change. */
import type pg from "pg";
import type { Instant } from "../clock.ts";
import { dividendChanges, type DividendWord, type KeptDividend, sameText } from "./dividendChanges.ts";
import { compareKeys, inTimeOrder, type Key, type PlacedUnit } from "./quoteColumns.ts";
import { dividends } from "./schema.ts";
import { upsertAll } from "./tableRows.ts";
import { dividendOf } from "../read/answerToRows.ts";

/** What the quotes of one series, an instrument from a source, say of its dividend. */
type DividendSeries = {
  instrumentId: number;
  sourceId: number;
  /** Ascending, each time once. */
  words: Pick<DividendWord, "observedAt" | "dividend">[];
  /** Time of its newest quote, whose word may have been left out. */
  lastAt: Instant;
  /** Whether words are left out that say what the one before them says. */
  sparse: boolean;
};

/** Series by instrument and source. */
export type DividendWords = Map<number, DividendSeries>;

/** More than there are numbers of sources: with it, instrument and source are one number. */
const SOURCES = 2 ** 16;

/** What units say, every word of them. */
export function wordsOf(units: readonly PlacedUnit[]): DividendWords {
  const all: DividendWords = new Map();
  for (const placed of inTimeOrder(units)) {
    const series = seriesOf(all, placed, false);
    const { observedAt, quote } = placed.unit;
    // Of two quotes of one time the first is stored.
    if (series.words.at(-1)?.observedAt === observedAt) continue;
    series.words.push({ observedAt, dividend: dividendOf(quote) });
    series.lastAt = observedAt;
  }
  return all;
}

/**
 * Adds what further units say, without words that say nothing or what the one before them says: nearly all.
 *
 * @returns false when one comes before a quote that came earlier: words that were left out may be wanted then
 */
export function addChangedWords(all: DividendWords, units: readonly PlacedUnit[]): boolean {
  let inOrder = true;
  for (const placed of inTimeOrder(units)) {
    const series = seriesOf(all, placed, true);
    const { observedAt, quote } = placed.unit;
    inOrder &&= observedAt > series.lastAt;
    series.lastAt = observedAt;
    const dividend = dividendOf(quote);
    const before = series.words.at(-1)?.dividend ?? null;
    if (dividend === null || (before !== null && sameText(before, dividend))) continue;
    series.words.push({ observedAt, dividend });
  }
  return inOrder;
}

function seriesOf(
  all: DividendWords,
  { instrumentId, sourceId }: PlacedUnit,
  sparse: boolean,
): DividendSeries {
  const number = instrumentId * SOURCES + sourceId;
  const known = all.get(number);
  if (known !== undefined) return known;
  const series = { instrumentId, sourceId, words: [], lastAt: "", sparse };
  all.set(number, series);
  return series;
}

/**
 * Brings the table up to quotes that are about to be stored, before they are: then it is as if all quotes of the series
 * had come in the order of their times (`dividendChanges`).
 *
 * @returns how many rows are new; null when quotes of the archive lie among those of a sparse series, and nothing was done
 */
export async function insertDividends(client: pg.ClientBase, all: DividendWords): Promise<number | null> {
  const series = [...all.values()].filter(({ words }) => words.some(({ dividend }) => dividend !== null));
  if (series.length === 0) return 0;
  const kept = await readKept(client, series);
  const late = series.filter((_, place) => kept[place]?.late);
  const beside = late.length === 0 ? new Map<DividendSeries, Beside[]>() : await readBeside(client, late);
  const crossed = late.some(
    (one) => one.sparse && beside.get(one)?.some(({ next }) => next !== null && next <= one.lastAt),
  );
  if (crossed) return null;
  const put: (typeof dividends.$inferSelect)[] = [];
  const drop: Key[] = [];
  let made = 0;
  series.forEach((one, place) => {
    const rows = kept[place]?.rows ?? [];
    const words = one.words.map((word, index): DividendWord => ({
      ...word,
      ...(beside.get(one)?.[index] ?? { next: null, isNew: true }),
    }));
    const changes = dividendChanges(words, rows);
    const { instrumentId, sourceId } = one;
    const there = new Set(rows.map(({ observedAt }) => observedAt));
    made += changes.put.filter(({ observedAt }) => !there.has(observedAt)).length;
    put.push(
      ...changes.put.map(({ observedAt, dividend }) => ({ observedAt, instrumentId, sourceId, ...dividend })),
    );
    drop.push(...changes.drop.map((observedAt) => ({ observedAt, instrumentId, sourceId })));
  });
  await dropRows(client, drop);
  await upsertAll(client, dividends, put.sort(compareKeys));
  return made;
}

/** An instant as the program writes it: SQL of a column. */
const instantText = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** What the table has of a series, and whether the archive may have quotes as new as the first word. */
type Kept = { late: boolean; rows: KeptDividend[] };

/** Rows of each series: the last one before its first word, and all from there on. */
async function readKept(client: pg.ClientBase, series: readonly DividendSeries[]): Promise<Kept[]> {
  const { rows } = await client.query<{
    place: number;
    late: boolean;
    at: Instant | null;
    ex_date: string | null;
    amount: string | null;
    yield: string | null;
  }>({
    name: "read kept dividends",
    text: `select (w.place - 1)::int as place, i.last_seen_at >= w.first as late,
        ${instantText("d.observed_at")} as at, d.ex_date::text, d.amount, d.yield
      from unnest($1::int[], $2::smallint[], $3::timestamptz[])
        with ordinality as w (instrument_id, source_id, first, place)
      join instruments i on i.id = w.instrument_id
      left join lateral (
        (select * from dividends b
         where b.instrument_id = w.instrument_id and b.source_id = w.source_id and b.observed_at < w.first
         order by b.observed_at desc limit 1)
        union all
        (select * from dividends a
         where a.instrument_id = w.instrument_id and a.source_id = w.source_id and a.observed_at >= w.first)
      ) d on true
      order by w.place, d.observed_at`,
    values: [
      series.map(({ instrumentId }) => instrumentId),
      series.map(({ sourceId }) => sourceId),
      series.map(({ words }) => words[0]?.observedAt),
    ],
  });
  const kept = series.map((): Kept => ({ late: false, rows: [] }));
  for (const { place, late, at, ex_date, amount, yield: part } of rows) {
    const one = kept[place];
    if (one === undefined) continue;
    one.late = late;
    if (at !== null) one.rows.push({ observedAt: at, dividend: { exDate: ex_date, amount, yield: part } });
  }
  return kept;
}

/** What the archive has beside a word. */
type Beside = Pick<DividendWord, "next" | "isNew">;

async function readBeside(
  client: pg.ClientBase,
  series: readonly DividendSeries[],
): Promise<Map<DividendSeries, Beside[]>> {
  const words = series.flatMap((one) => one.words.map(({ observedAt }) => ({ one, observedAt })));
  const { rows } = await client.query<{ next: Instant | null; is_new: boolean }>({
    name: "read quotes beside dividends",
    text: `select ${instantText("n.observed_at")} as next, not exists (
        select from quotes q
        where q.instrument_id = w.instrument_id and q.source_id = w.source_id and q.observed_at = w.observed_at
      ) as is_new
      from unnest($1::int[], $2::smallint[], $3::timestamptz[])
        with ordinality as w (instrument_id, source_id, observed_at, place)
      left join lateral (
        select q.observed_at from quotes q
        where q.instrument_id = w.instrument_id and q.source_id = w.source_id and q.observed_at > w.observed_at
        order by q.observed_at limit 1
      ) n on true
      order by w.place`,
    values: [
      words.map(({ one }) => one.instrumentId),
      words.map(({ one }) => one.sourceId),
      words.map(({ observedAt }) => observedAt),
    ],
  });
  const beside = new Map<DividendSeries, Beside[]>(series.map((one) => [one, []]));
  rows.forEach(({ next, is_new }, place) => {
    const one = words[place]?.one;
    if (one !== undefined) beside.get(one)?.push({ next, isNew: is_new });
  });
  return beside;
}

async function dropRows(client: pg.ClientBase, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query(
    `delete from dividends d using unnest($1::timestamptz[], $2::int[], $3::smallint[])
       as w (observed_at, instrument_id, source_id)
     where d.instrument_id = w.instrument_id and d.observed_at = w.observed_at and d.source_id = w.source_id`,
    [
      keys.map(({ observedAt }) => observedAt),
      keys.map(({ instrumentId }) => instrumentId),
      keys.map(({ sourceId }) => sourceId),
    ],
  );
}
