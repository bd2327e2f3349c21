/** What the API gives as files: bars, and a chain. A line says where its prices come from. */
import type pg from "pg";
import {
  type ContractRow,
  type ContractsQuery,
  readContracts,
  readOptionRates,
} from "../../archive/ask/chainRows.ts";
import type { Bar, BarsView, MissRow } from "../../archive/ask/dashboardTypes.ts";
import { mapInTurns } from "../../archive/ask/mapInTurns.ts";
import { isoOf } from "../../archive/ask/queries.ts";
import { rootedName } from "../../market/instrument.ts";
import { harmless } from "../../read/formula.ts";
import { CsvFile, csvName, csvText } from "./csvText.ts";

const BARS_HEADING =
  "instrument,source,delayed,interval,date,session,bar_at,open,high,low,close,bid,ask,mean_spread,quote_count,volume,missing,reasons";

/**
 * A line for each bar. Behind the bar stand the quotes that were due from its beginning until the next one's and are missing, by job
 * and reason. Pure.
 *
 * @param misses ascending
 */
export function barsCsv(view: BarsView, misses: readonly MissRow[]): string {
  const { instrument, source, delayed, interval, bars } = view;
  const missing = missesByBar(bars, misses);
  const lines = bars.map((bar, place) => {
    const missed = missing[place] ?? [];
    const { date, session, at, open, high, low, close, bid, ask, meanSpread, quoteCount, volume } = bar;
    const ofSeries = [harmless(instrument), source, String(delayed), interval, date, session, at];
    return ofSeries.concat(
      [open, high, low, close, bid, ask, meanSpread, quoteCount, volume],
      String(missed.reduce((sum, { count }) => sum + count, 0)),
      harmless(missed.map(({ job, reason, count }) => `${job} ${reason} ${count}`).join("; ")),
    );
  });
  return csvText(BARS_HEADING.split(","), lines);
}

/** By the bar that had begun; what was missed before the first one stands with it. */
function missesByBar(bars: readonly Bar[], misses: readonly MissRow[]): MissRow[][] {
  const starts = bars.map(({ at }) => Date.parse(at));
  const found: MissRow[][] = bars.map(() => []);
  let place = 0;
  for (const miss of misses) {
    while ((starts[place + 1] ?? Infinity) <= Date.parse(miss.firstAt)) place += 1;
    found[place]?.push(miss);
  }
  return found;
}

/** A contract with what its volatilities rest on. */
type Row = ContractRow & { underlying: string; delayed: boolean; rate: number; dividendYield: number };

const CHAIN_HEADING = (
  "underlying expiration option_type strike source source_name delayed observed_at bid mid ask last volume spot moneyness years " +
  "rate dividend_yield iv_bid iv_mid iv_ask delta gamma vega theta rho service_delta quoted_at traded_at open_interest " +
  "service_iv_bid service_iv_mid service_iv_ask service_gamma service_theta service_vega service_rho greeks_at"
).split(" ");

/** The fields of a row that stand in the columns. */
const CHAIN_FIELDS = CHAIN_HEADING.map((name) =>
  name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
) as (keyof Row)[];

const TIMES: ReadonlySet<string> = new Set(["observedAt", "quotedAt", "tradedAt", "greeksAt"]);
const NAMES: ReadonlySet<string> = new Set(["underlying", "sourceName"]);

function chainCell(row: Row, field: keyof Row): string | null {
  const value = row[field];
  if (value === null) return null;
  if (TIMES.has(field)) return isoOf(String(value));
  return NAMES.has(field) ? harmless(String(value)) : String(value);
}

/** Every contract at an instant with its volatilities and greeks. */
export async function chainCsv(pool: pg.Pool, query: ContractsQuery): Promise<CsvFile> {
  const rows = await readContracts(pool, query);
  const given = { ...(await readOptionRates(pool)), delayed: query.delayed };
  const lines = await mapInTurns(rows, (row) => {
    // One object a row, not one a cell: thousands of contracts would take a second.
    const underlying = rootedName({ underlying: row.symbol, root: row.root ?? undefined });
    const whole = { ...row, ...given, underlying };
    return CHAIN_FIELDS.map((field) => chainCell(whole, field));
  });
  const at = query.at === null ? "now" : new Date(query.at).toISOString().replace(/[-:]|\.\d+/g, "");
  const name = csvName([query.symbol, query.expiration ?? "chain", at], rows[0]?.source ?? "account");
  return new CsvFile(name, csvText(CHAIN_HEADING, lines));
}
