/** A plain table with the rows of a database: a line a quote, in the order in which they were observed. */
import { join } from "node:path";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../../src/quotes/fields.ts";
import { psql } from "../limit.ts";

/** Writes it. @returns its path */
export async function writeCsv(url: string, dir: string): Promise<string> {
  const file = join(dir, "quotes.csv");
  const instant = (sql: string): string =>
    `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  const columns = (alias: string, fields: readonly { column: string; type: string }[]): string[] =>
    fields.map(({ column, type }) =>
      type === "instant" ? `${instant(`${alias}.${column}`)} as ${column}` : `${alias}.${column}`,
    );
  const select = [
    `${instant("q.observed_at")} as observed_at`,
    "i.symbol, i.expiration, i.option_type, i.strike, i.exchange, i.description",
    ...columns("q", PRICE_FIELDS),
    ...columns("e", EXTENDED_FIELDS),
  ];
  await psql(url, [
    `\\copy (select ${select.join(", ")} from quotes q join extended_quotes e using (instrument_id, observed_at, source_id) join instruments i on i.id = q.instrument_id order by q.observed_at, q.instrument_id) to '${file}' csv header`,
  ]);
  return file;
}
