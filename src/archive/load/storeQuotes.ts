/**
 * The one way of quotes into the archive: rows that are not there yet are stored (staging.ts), and `session_bars` notes which bars
 * they change; `makeBars` makes these.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import {
  EXTENDED_QUOTES,
  hasExtended,
  hasQuote,
  inKeyOrder,
  type PlacedUnit,
  type QuoteTable,
  QUOTES,
} from "../schema/quoteColumns.ts";
import { exchangeDateAt } from "../schema/lateDays.ts";
import { sessionBars } from "../schema/internalSchema.ts";
import { IS_STALE, removeStaleBars } from "../schema/makeBars.ts";
import { columnList, inArrays } from "../schema/tableRows.ts";
import { storeRows } from "./staging.ts";

type TouchedBar = {
  instrumentId: number;
  sourceId: number;
  delayed: boolean;
  date: string;
  firstAt: Instant;
  lastAt: Instant;
};

/**
 * @param client in a transaction, its connection after `prepareStaging`
 * @returns how many quotes were not there before
 */
export async function storeUnits(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<number> {
  const all = inKeyOrder(units);
  const ordered = all.filter(hasQuote);
  const valuesOf = ({ columns }: QuoteTable, placed: readonly PlacedUnit[]): (string | null)[][] =>
    placed.map((one) => columns.map(({ text }) => text(one)));
  const stored = await storeRows(client, "quotes", valuesOf(QUOTES, ordered));
  const extended = valuesOf(EXTENDED_QUOTES, all.filter(hasExtended));
  const storedBeside = await storeRows(client, "extendedQuotes", extended);
  // Volumes may come of quotes that were there before.
  if (stored + storedBeside > 0 && ordered.length > 0)
    await noteTouched(
      client,
      ordered.map(({ instrumentId, sourceId, unit: { observedAt: at, delayed } }) => ({
        instrumentId,
        sourceId,
        delayed,
        date: exchangeDateAt(at),
        firstAt: at,
        lastAt: at,
      })),
    );
  return stored;
}

/**
 * Newer rows extend a bar, as they do while collecting. Older rows make the bar be rebuilt from all rows, because they may have been
 * in it once and lost since. Series of one instrument share a bar. Rows are noted in the order of the key, so that two loaders do not
 * wait for each other in a circle.
 */
const NOTE_TOUCHED = `
  with noted as (
  insert into session_bars as kept (${columnList(sessionBars, "instrumentId", "sourceId", "delayed", "date", "firstAt", "lastAt", "madeTo", "spreadSum", "spreadCount", "quoteCount")})
  select instrument, source, delayed, date, min(first_at), max(last_at), '-infinity', 0, 0, 0
  from unnest($1::text[], $2::smallint[], $3::boolean[], $4::date[], $5::timestamptz[], $6::timestamptz[])
    as t (instruments, source, delayed, date, first_at, last_at)
  cross join unnest(t.instruments::int[]) as instrument
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (instrument_id, source_id, delayed, date) do update set
    first_at = least(kept.first_at, excluded.first_at),
    last_at = greatest(kept.last_at, excluded.last_at),
    made_to = case
      when excluded.first_at > kept.last_at and kept.bars_to is distinct from 'infinity' then coalesce(kept.made_to, kept.last_at)
      else '-infinity'
    end
  returning date, made_to, bars_to, quotes_dropped
  ) select distinct date::text from noted where ${IS_STALE}`;

/** The rows of an answer have one time, and so one date: their instruments go together, as the text of an array. */
async function noteTouched(client: pg.ClientBase, touched: readonly TouchedBar[]): Promise<void> {
  const groups = new Map<string, TouchedBar & { instruments: string }>();
  for (const one of touched) {
    const key = `${one.sourceId} ${one.delayed} ${one.firstAt} ${one.lastAt}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...one, instruments: `${one.instrumentId}` });
    else group.instruments += `,${one.instrumentId}`;
  }
  const all = [...groups.values()];
  const { rows } = await client.query<{ date: string }>({
    name: "note touched bars",
    text: NOTE_TOUCHED,
    values: [
      all.map(({ instruments }) => `{${instruments}}`),
      ...inArrays(all, "sourceId", "delayed", "date", "firstAt", "lastAt"),
    ],
  });
  await removeStaleBars(
    client,
    rows.map(({ date }) => date),
  );
}
