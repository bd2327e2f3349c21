/** Last prices of some securities, by which their chains are planned. */
import type pg from "pg";

/**
 * The last price of each symbol in its newest quote, decimal text. Of several sources, and of real-time and delayed quotes,
 * the newest that has one counts; 0 is no price.
 */
export async function readLastPrices(
  pool: Pick<pg.Pool, "query">,
  symbols: readonly string[],
): Promise<[symbol: string, last: string][]> {
  if (symbols.length === 0) return [];
  const { rows } = await pool.query<{ symbol: string; last: string }>(
    `select distinct on (symbol) symbol, last::text as last from latest_quotes
     where symbol = any ($1) and option_type is null and last > 0 order by symbol, observed_at desc`,
    [symbols],
  );
  return rows.map(({ symbol, last }) => [symbol, last]);
}
