/**
 * Rows that an import with `--replace` corrects. A piece of such an import says which rows it has. Of all pieces of a source with
 * a row of one instrument and time the newest of these counts, in whatever order they are loaded: so a journal that is read
 * again changes nothing.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import { archivedName } from "../../market/root.ts";
import { unitName } from "../../read/answerToRows.ts";
import type { QuoteUnit } from "../../read/rowTypes.ts";
import { EXTENDED_QUOTES, inKeyOrder, type PlacedUnit, QUOTES } from "../schema/quoteColumns.ts";
import { removeStaleBars } from "../schema/makeBars.ts";
import { instantText } from "../schema/tableRows.ts";
import { storeUnits } from "./storeQuotes.ts";

type OfferedRow = { unit: QuoteUnit; sourceId: number; observedAt: Instant };

/** A row as a piece names it in `replaces`. */
export function replacedName(unit: QuoteUnit): string {
  return `${unit.observedAt} ${unitName(unit)}`;
}

/** Drops the units that a newer piece of the archive replaces. */
export async function withoutReplaced<U extends OfferedRow>(
  client: pg.ClientBase,
  units: readonly U[],
): Promise<readonly U[]> {
  const first = units.reduce((least, { observedAt }) => (observedAt < least ? observedAt : least), "9");
  const sources = [...new Set(units.map(({ sourceId }) => sourceId))];
  const { rows: pieces } = await client.query<{ id: number; at: Instant; names: string[] }>(
    `select source_id as id, ${instantText("observed_at")} as at, request -> 'replaces' as names from responses
     where source_id = any ($1) and observed_at > $2 and request ? 'replaces'`,
    [sources, first],
  );
  if (pieces.length === 0) return units;
  const newest = new Map<string, Instant>();
  for (const { id, at, names } of pieces)
    for (const name of names) {
      const key = `${id} ${archivedName(name)}`;
      if (at > (newest.get(key) ?? "")) newest.set(key, at);
    }
  return units.filter(
    ({ unit, sourceId, observedAt }) => observedAt >= (newest.get(`${sourceId} ${replacedName(unit)}`) ?? ""),
  );
}

const IS_ROW =
  "t.instrument_id = w.instrument_id and t.observed_at = w.observed_at and t.source_id = w.source_id";

export async function replaceQuotes(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<void> {
  const ordered = inKeyOrder(units);
  const keys = [
    ordered.map(({ instrumentId }) => instrumentId),
    ordered.map(({ unit }) => unit.observedAt),
    ordered.map(({ sourceId }) => sourceId),
  ];
  // A row that was a delayed one may come back as none: then it leaves one bar for another.
  const { rows } = await client.query<{ date: string }>(
    `update session_bars b set made_to = '-infinity'
     from unnest($1::int[], $2::timestamptz[], $3::smallint[]) as w (instrument_id, observed_at, source_id)
     join quotes t on ${IS_ROW}
     where b.instrument_id = t.instrument_id and b.source_id = t.source_id and b.delayed = t.delayed
       and b.date = (t.observed_at at time zone 'America/New_York')::date and b.made_to is distinct from '-infinity'
     returning b.date`,
    keys,
  );
  await removeStaleBars(client, [...new Set(rows.map(({ date }) => date))]);
  for (const { name } of [EXTENDED_QUOTES, QUOTES])
    await client.query(
      `delete from ${name} t
       using unnest($1::int[], $2::timestamptz[], $3::smallint[]) as w (instrument_id, observed_at, source_id)
       where ${IS_ROW}`,
      keys,
    );
  await storeUnits(client, ordered);
}
