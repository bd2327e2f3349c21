/** Dividends, of which a row is kept for each change. */
import type pg from "pg";
import type { Instant } from "../../clock.ts";
import { dividendChanges, type DividendWord, type KeptDividend } from "./dividendChanges.ts";
import { inTimeOrder, type Key, type PlacedUnit, seriesNumber } from "../schema/quoteColumns.ts";
import type { DividendData } from "../../quotes/document.ts";
import type { dividends } from "../schema/schema.ts";
import { inArrays, instantText } from "../schema/tableRows.ts";
import { storeAlone } from "../connect/transaction.ts";
import { engineOf } from "../tiers/citus/door.ts";
import { dividendOf } from "../../read/answerToRows.ts";
import { storeRows } from "./staging.ts";

/** What the quotes of one series, an instrument from a source, say of its dividend. */
type DividendSeries = {
  instrumentId: number;
  sourceId: number;
  /** Ascending, each time once. */
  words: Pick<DividendWord, "observedAt" | "dividend">[];
};

function wordsOf(units: readonly PlacedUnit[]): DividendSeries[] {
  const all = new Map<number, DividendSeries>();
  for (const { unit, instrumentId, sourceId } of inTimeOrder(units)) {
    const number = seriesNumber(instrumentId, sourceId);
    const series = all.get(number) ?? { instrumentId, sourceId, words: [] };
    all.set(number, series);
    const { observedAt, quote } = unit;
    // Of two quotes of one time the first is stored.
    if (series.words.at(-1)?.observedAt === observedAt) continue;
    series.words.push({ observedAt, dividend: dividendOf(quote) });
  }
  return [...all.values()];
}

/**
 * Brings the table up to quotes that are about to be stored, before they are: then it is as if all quotes of the series
 * had come in the order of their times (`dividendChanges`).
 *
 * @param client in a transaction that began with `BEGIN_STORING`, or alone
 * @returns how many rows are new
 * @throws 55P03 when the table has to change and another transaction stores quotes: it may go well alone
 */
export async function insertDividends(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<number> {
  const changing = (await readKept(client, wordsOf(units))).filter(mayChange);
  if (changing.length === 0) return 0;
  await storeAlone(client);
  const beside = await readBeside(
    client,
    changing.map(({ one }) => one),
  );
  return change(client, changing, beside);
}

/** A series, and the rows of the table that it is held against: the last one before its first word, and all from there on. */
type Held = { one: DividendSeries; rows: KeptDividend[] };

/** Whether the rows of a series change, or may, as another quote's row lies among its words. */
function mayChange({ one: { words }, rows }: Held): boolean {
  const [first = "", last = ""] = [words[0]?.observedAt, words.at(-1)?.observedAt];
  const times = new Set(words.map(({ observedAt }) => observedAt));
  if (rows.some(({ observedAt: at }) => at > first && at <= last && !times.has(at))) return true;
  const alone = words.map((word) => ({ ...word, next: null, isNew: false }));
  const { put, drop } = dividendChanges(alone, rows);
  return put.length > 0 || drop.length > 0;
}

async function change(
  client: pg.ClientBase,
  changing: readonly Held[],
  beside: readonly Beside[][],
): Promise<number> {
  const put: (typeof dividends.$inferSelect)[] = [];
  const drop: Key[] = [];
  let made = 0;
  changing.forEach(({ one: { words, instrumentId, sourceId }, rows }, place) => {
    const changes = dividendChanges(
      words.map((word, index) => ({ ...word, ...(beside[place]?.[index] ?? { next: null, isNew: true }) })),
      rows,
    );
    const there = new Set(rows.map(({ observedAt }) => observedAt));
    made += changes.put.filter(({ observedAt }) => !there.has(observedAt)).length;
    put.push(
      ...changes.put.map(({ observedAt, dividend }) => ({ observedAt, instrumentId, sourceId, ...dividend })),
    );
    drop.push(...changes.drop.map((observedAt) => ({ observedAt, instrumentId, sourceId })));
  });
  await dropRows(client, drop);
  await storeRows(
    client,
    "dividends",
    put.map((row) => [
      ...[row.observedAt, String(row.instrumentId), String(row.sourceId)],
      ...[row.exDate, row.amount, row.yield],
    ]),
  );
  return made;
}

function saysAnything({ words }: DividendSeries): boolean {
  return words.some(({ dividend }) => dividend !== null);
}

/** What the table has of each series that says anything, but for those of one word that its newest row has said already. */
async function readKept(client: pg.ClientBase, all: readonly DividendSeries[]): Promise<Held[]> {
  const series = await withoutSaid(client, all.filter(saysAnything));
  if (series.length === 0) return [];
  const { rows } = await client.query<{
    place: number;
    at: Instant;
    ex_date: string | null;
    amount: string | null;
    yield: string | null;
  }>({
    name: "read kept dividends",
    text: `select (w.place - 1)::int as place, ${instantText("d.observed_at")} as at, d.ex_date::text, d.amount, d.yield
      from unnest($1::int[], $2::smallint[], $3::timestamptz[])
        with ordinality as w (instrument_id, source_id, first, place)
      cross join lateral (
        (select * from dividends b
         where b.instrument_id = w.instrument_id and b.source_id = w.source_id and b.observed_at < w.first
         order by b.observed_at desc limit 1)
        union all
        (select * from dividends a
         where a.instrument_id = w.instrument_id and a.source_id = w.source_id and a.observed_at >= w.first)
      ) d
      order by w.place, d.observed_at`,
    values: [
      ...inArrays(series, "instrumentId", "sourceId"),
      series.map(({ words }) => words[0]?.observedAt),
    ],
  });
  const kept = series.map((one): Held => ({ one, rows: [] }));
  for (const { place, at, ex_date, amount, yield: part } of rows)
    kept[place]?.rows.push({ observedAt: at, dividend: { exDate: ex_date, amount, yield: part } });
  return kept;
}

/** Each answer says the dividends that are known: rows need no reading where the database itself finds nothing new. */
async function withoutSaid(
  client: pg.ClientBase,
  series: readonly DividendSeries[],
): Promise<readonly DividendSeries[]> {
  const single = series.flatMap(({ words: [word, second], instrumentId, sourceId }, place) =>
    word?.dividend && !second
      ? [{ instrumentId, sourceId, place, observedAt: word.observedAt, dividend: word.dividend }]
      : [],
  );
  const found = single.length === 0 ? new Set<number>() : await findNew(client, single);
  return series.filter(({ words }, place) => words.length > 1 || found.has(place));
}

/** Places of words that the newest row of their series does not say, or that are not later than it. */
async function findNew(
  client: pg.ClientBase,
  words: readonly (Key & { dividend: DividendData; place: number })[],
): Promise<Set<number>> {
  const { rows } = await client.query<{ place: number }>({
    name: "find new dividends",
    text: `select w.place
      from unnest($1::int[], $2::int[], $3::smallint[], $4::timestamptz[], $5::date[], $6::numeric[], $7::numeric[])
        as w (place, instrument_id, source_id, observed_at, ex_date, amount, yield)
      left join lateral (
        select d.observed_at, d.ex_date, d.amount, d.yield from dividends d
        where d.instrument_id = w.instrument_id and d.source_id = w.source_id
        order by d.observed_at desc limit 1
      ) d on true
      where d.observed_at is null or d.observed_at >= w.observed_at
        or (d.ex_date, d.amount, d.yield) is distinct from (w.ex_date, w.amount, w.yield)`,
    values: [
      ...inArrays(words, "place", "instrumentId", "sourceId", "observedAt"),
      ...inArrays(
        words.map(({ dividend }) => dividend),
        "exDate",
        "amount",
        "yield",
      ),
    ],
  });
  return new Set(rows.map(({ place }) => place));
}

/** What the archive has beside a word. */
type Beside = Pick<DividendWord, "next" | "isNew">;

/** Of each word of each series. */
async function readBeside(client: pg.ClientBase, series: readonly DividendSeries[]): Promise<Beside[][]> {
  const words = series.flatMap(({ words: all, instrumentId, sourceId }, place) =>
    all.map(({ observedAt }) => ({ place, instrumentId, sourceId, observedAt })),
  );
  const { firstQuote } = await engineOf(client);
  const { rows } = await client.query<{ next: Instant | null; is_new: boolean }>({
    text: `with w as materialized (
        select * from unnest($1::int[], $2::smallint[], $3::timestamptz[])
          with ordinality as w (instrument_id, source_id, observed_at, place)
      )
      select ${instantText("n.observed_at")} as next, h.observed_at is distinct from w.observed_at as is_new
      from w
      ${firstQuote({ alias: "h", when: ">=", quotes: "quotes" })}
      ${firstQuote({ alias: "n", when: ">", quotes: "quotes" })}
      order by w.place`,
    values: inArrays(words, "instrumentId", "sourceId", "observedAt"),
  });
  const beside = series.map((): Beside[] => []);
  words.forEach(({ place }, index) => {
    const { next = null, is_new = true } = rows[index] ?? {};
    beside[place]?.push({ next, isNew: is_new });
  });
  return beside;
}

async function dropRows(client: pg.ClientBase, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query(
    `delete from dividends d using unnest($1::timestamptz[], $2::int[], $3::smallint[])
       as w (observed_at, instrument_id, source_id)
     where d.instrument_id = w.instrument_id and d.observed_at = w.observed_at and d.source_id = w.source_id`,
    inArrays(keys, "observedAt", "instrumentId", "sourceId"),
  );
}
