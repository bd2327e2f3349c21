/** A chain as a file: every contract at an instant with its volatilities and greeks, and what they rest on, in each row. */
import type pg from "pg";
import {
  type ContractRow,
  type ContractsQuery,
  readContracts,
  readOptionRates,
} from "../../archive/ask/chainRows.ts";
import { mapInTurns } from "../../archive/ask/mapInTurns.ts";
import { isoOf } from "../../archive/ask/queries.ts";
import { rootedName } from "../../market/instrument.ts";
import { harmless } from "../../read/formula.ts";
import { CsvFile, csvName, csvText } from "./csvText.ts";

type Row = ContractRow & { isDelayed: boolean; riskFree: number; dividends: number };

const number = (value: number | null): string | null => (value === null ? null : String(value));

const timeOf = (value: string | null): string | null => (value === null ? null : isoOf(value));

const COLUMNS: Readonly<Record<string, (row: Row) => string | null>> = {
  underlying: ({ symbol, root }) => harmless(rootedName({ underlying: symbol, root: root ?? undefined })),
  expiration: ({ expiration }) => expiration,
  option_type: ({ optionType }) => optionType,
  strike: ({ strike }) => strike,
  source: ({ source }) => source,
  source_name: ({ sourceName }) => harmless(sourceName),
  delayed: ({ isDelayed }) => String(isDelayed),
  observed_at: ({ observedAt }) => isoOf(observedAt),
  bid: ({ bid }) => bid,
  mid: ({ mid }) => mid,
  ask: ({ ask }) => ask,
  last: ({ last }) => last,
  volume: ({ volume }) => volume,
  spot: ({ spot }) => spot,
  moneyness: ({ moneyness }) => number(moneyness),
  years: ({ years }) => number(years),
  rate: ({ riskFree }) => String(riskFree),
  dividend_yield: ({ dividends }) => String(dividends),
  iv_bid: ({ ivBid }) => number(ivBid),
  iv_mid: ({ ivMid }) => number(ivMid),
  iv_ask: ({ ivAsk }) => number(ivAsk),
  delta: ({ delta }) => number(delta),
  gamma: ({ gamma }) => number(gamma),
  vega: ({ vega }) => number(vega),
  theta: ({ theta }) => number(theta),
  rho: ({ rho }) => number(rho),
  service_delta: ({ serviceDelta }) => serviceDelta,
  quoted_at: ({ quotedAt }) => timeOf(quotedAt),
  traded_at: ({ tradedAt }) => timeOf(tradedAt),
  open_interest: ({ openInterest }) => openInterest,
  service_iv_bid: ({ serviceIvBid }) => serviceIvBid,
  service_iv_mid: ({ serviceIvMid }) => serviceIvMid,
  service_iv_ask: ({ serviceIvAsk }) => serviceIvAsk,
  service_gamma: ({ serviceGamma }) => serviceGamma,
  service_theta: ({ serviceTheta }) => serviceTheta,
  service_vega: ({ serviceVega }) => serviceVega,
  service_rho: ({ serviceRho }) => serviceRho,
  greeks_at: ({ greeksAt }) => timeOf(greeksAt),
};

export async function chainCsv(pool: pg.Pool, query: ContractsQuery): Promise<CsvFile> {
  const rows = await readContracts(pool, query);
  const { rate, dividendYield } = await readOptionRates(pool);
  const given = { isDelayed: query.delayed, riskFree: rate, dividends: dividendYield };
  const columns = Object.values(COLUMNS);
  const lines = await mapInTurns(rows, (row) => {
    // One object a row, not one a cell: thousands of contracts would take a second.
    const whole = { ...row, ...given };
    return columns.map((of) => of(whole));
  });
  const at = query.at === null ? "now" : new Date(query.at).toISOString().replace(/[-:]|\.\d+/g, "");
  const name = csvName([query.symbol, query.expiration ?? "chain", at], rows[0]?.source ?? "account");
  return new CsvFile(name, csvText(Object.keys(COLUMNS), lines));
}
