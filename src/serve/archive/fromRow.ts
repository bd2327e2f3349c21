/** From a row of the archive back to the `instrumentquote` it was made of, element by element. Pure. */
import type { PointInTimeRow } from "../../archive/pointInTime.ts";
import { UNKNOWN_SECURITY_TYPE } from "../../read/answerToRows.ts";
import type { DividendData, InstrumentQuote, Quote } from "../../quotes-api/document.ts";

/**
 * Assumed: a dividend of 0 whose yield is not there came with the yield that means "no dividend" (field notes,
 * "Answers"), which the archive keeps as NULL; so it is written again.
 */
export const NO_DIVIDEND_YIELD = "4.9E-324";

/**
 * The quote of a row. What was absent when it was received (NULL) is an empty element; `underlying` is there when the
 * archive knows the underlying, `undlyquote` when it came along.
 */
export function quoteFromRow(row: PointInTimeRow): InstrumentQuote {
  const isOption = row.option_type !== null;
  const underlying = isOption ? row.underlying_symbol : null;
  return {
    instrument: {
      description: row.description,
      exchange: row.exchange,
      securityType: row.security_type === UNKNOWN_SECURITY_TYPE ? null : row.security_type,
      symbol: row.symbol,
      expiration: row.expiration,
      optionType: row.option_type,
      strike: row.strike,
    },
    quote: readQuote(row, "q"),
    greeksDelta: isOption ? row.q_delta : null,
    underlying:
      underlying === null
        ? null
        : {
            description: row.underlying_description,
            exchange: row.underlying_exchange,
            symbol: underlying,
          },
    underlyingQuote: underlying !== null && row.u_found ? readQuote(row, "u") : null,
    unknownSymbol: false,
  };
}

function readQuote(row: PointInTimeRow, of: "q" | "u"): Quote {
  return {
    ask: row[`${of}_ask`],
    bid: row[`${of}_bid`],
    change: row[`${of}_change`],
    last: row[`${of}_last`],
    pctChange: row[`${of}_pct_change`],
    extended: {
      askSize: row[`${of}_ask_size`],
      bidSize: row[`${of}_bid_size`],
      high: row[`${of}_high`],
      low: row[`${of}_low`],
      open: row[`${of}_open`],
      previousClose: row[`${of}_previous_close`],
      volume: row[`${of}_volume`],
      dividend: row[`${of}_dividend_found`] ? readDividend(row, of) : null,
      earningsPerShare: row[`${of}_earnings_per_share`],
      high52Week: row[`${of}_high_52_week`],
      low52Week: row[`${of}_low_52_week`],
      peRatio: row[`${of}_pe_ratio`],
      sessionVolume: row[`${of}_session_volume`],
      contractHigh: row[`${of}_contract_high`],
      contractLow: row[`${of}_contract_low`],
      contractSize: row[`${of}_contract_size`],
      delta: row[`${of}_delta`],
    },
  };
}

function readDividend(row: PointInTimeRow, of: "q" | "u"): DividendData {
  const amount = row[`${of}_amount`];
  const isNone = amount !== null && /^0(\.0*)?$/.test(amount);
  return {
    amount,
    exDate: row[`${of}_ex_date`],
    yield: row[`${of}_yield`] ?? (isNone ? NO_DIVIDEND_YIELD : null),
  };
}
