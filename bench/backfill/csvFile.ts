/** A file of a vendor's kind with the rows of a database: a line a quote, in the order in which they were observed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXTENDED_FIELDS, PRICE_FIELDS } from "../../src/quotes/fields.ts";
import { psql } from "./limit.ts";

/** A CSV file and its map. */
export type CsvFile = { file: string; map: string };

const INSTRUMENT = ["symbol", "expiration", "type", "strike", "exchange", "description"];

/** Writes both. */
export async function writeCsv(url: string, dir: string): Promise<CsvFile> {
  const [file, map] = [join(dir, "quotes.csv"), join(dir, "map.yaml")];
  const values = [...PRICE_FIELDS, ...EXTENDED_FIELDS].map(({ name }) => name);
  const select = [
    `to_char(q.observed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`,
    "i.symbol, i.expiration, i.option_type as type, i.strike, i.exchange, i.description",
    ...PRICE_FIELDS.map(({ name, column }) => `q.${column} as "${name}"`),
    ...EXTENDED_FIELDS.map(({ name, column }) => `e.${column} as "${name}"`),
  ];
  await psql(url, [
    `\\copy (select ${select.join(", ")} from quotes q join extended_quotes e using (instrument_id, observed_at, source_id) join instruments i on i.id = q.instrument_id order by q.observed_at, q.instrument_id) to '${file}' csv header`,
  ]);
  const columns = ["time", ...INSTRUMENT, ...values].map((name) => `  ${name}: ${name}\n`);
  writeFileSync(map, `columns:\n${columns.join("")}`);
  return { file, map };
}
