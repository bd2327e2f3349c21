/** Rows of an import whose place is taken by another quote: the database passes over them, and they must not vanish. */
import type pg from "pg";
import { EXTENDED_QUOTES, type PlacedUnit, QUOTES, type QuoteColumn } from "../../read/quoteColumns.ts";

/** The columns of a table's values, without its key. */
function valuesOf(columns: readonly QuoteColumn[]): QuoteColumn[] {
  return columns.slice(3);
}

const COLUMNS = [...QUOTES.columns, ...valuesOf(EXTENDED_QUOTES.columns)];

const SQL = `
  select w.place::int as place
  from unnest(${COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ")})
    with ordinality as w (${COLUMNS.map(({ name }) => name).join(", ")}, place)
  join quotes q on q.instrument_id = w.instrument_id and q.observed_at = w.observed_at and q.source_id = w.source_id
  left join extended_quotes e
    on e.instrument_id = w.instrument_id and e.observed_at = w.observed_at and e.source_id = w.source_id
  where (${names("w", QUOTES)}) is distinct from (${names("q", QUOTES)})
     or (e.instrument_id is not null and (${names("w", EXTENDED_QUOTES)}) is distinct from (${names("e", EXTENDED_QUOTES)}))`;

function names(alias: string, { columns }: { columns: readonly QuoteColumn[] }): string {
  return valuesOf(columns)
    .map(({ name }) => `${alias}.${name}`)
    .join(", ");
}

/** Which of the units say something else than the archive's row of their instrument, time and source: their places. */
export async function findContested(client: pg.ClientBase, units: readonly PlacedUnit[]): Promise<number[]> {
  const { rows } = await client.query<{ place: number }>({
    name: "find contested",
    text: SQL,
    values: COLUMNS.map(({ text }) => units.map(text)),
  });
  return rows.map(({ place }) => place - 1);
}
