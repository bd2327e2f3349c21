/** A chain as a file: every contract at an instant with its volatilities and greeks, and what they rest on, in each row. */
import type pg from "pg";
import {
  type ChainQuery,
  type ContractRow,
  readContracts,
  readOptionRates,
} from "../../archive/ask/chainRows.ts";
import { isoOf } from "../../archive/ask/queries.ts";
import { rootedName } from "../../market/instrument.ts";
import { harmless } from "../../read/formula.ts";
import { csvField, csvName } from "./csvText.ts";

const HEADING = [
  "underlying",
  "expiration",
  "option_type",
  "strike",
  "source",
  "source_name",
  "delayed",
  "observed_at",
  "bid",
  "mid",
  "ask",
  "last",
  "volume",
  "spot",
  "moneyness",
  "years",
  "rate",
  "dividend_yield",
  "iv_bid",
  "iv_mid",
  "iv_ask",
  "delta",
  "gamma",
  "vega",
  "theta",
  "rho",
  "service_delta",
];

/** @param query.expiration null: all that had not expired at the instant */
export async function chainCsv(
  pool: pg.Pool,
  query: Omit<ChainQuery, "expiration"> & { expiration: string | null },
): Promise<{ name: string; text: string }> {
  const rows = await readContracts(pool, query);
  const { rate, dividendYield } = await readOptionRates(pool);
  const given = [String(rate), String(dividendYield)];
  const lines = rows.map((row) => lineOf(row, query.delayed, given).map(csvField).join(","));
  const at = query.at === null ? "now" : new Date(query.at).toISOString().replace(/[-:]|\.\d+/g, "");
  return {
    name: csvName([query.symbol, query.expiration ?? "chain", at], rows[0]?.source ?? "account"),
    text: `${[HEADING.join(","), ...lines].join("\r\n")}\r\n`,
  };
}

function lineOf(row: ContractRow, delayed: boolean, given: readonly string[]): (string | null)[] {
  const { bid, mid, ask, last, volume, spot } = row;
  const { moneyness, years, iv_bid, iv_mid, iv_ask, delta, gamma, vega, theta, rho } = row;
  const number = (value: number | null): string | null => (value === null ? null : String(value));
  return [
    harmless(rootedName({ underlying: row.symbol, root: row.root ?? undefined })),
    row.expiration,
    row.option_type,
    row.strike,
    row.source,
    harmless(row.source_name),
    String(delayed),
    isoOf(row.observed_at),
    bid,
    mid,
    ask,
    last,
    volume,
    spot,
    number(moneyness),
    number(years),
    ...given,
    ...[iv_bid, iv_mid, iv_ask, delta, gamma, vega, theta, rho].map(number),
    row.service_delta,
  ];
}
