/** Turns a row of the archive back into the `instrumentquote` that it came from, element by element. Pure. */
import type { PointInTimeRow } from "../../archive/ask/pointInTime.ts";
import { UNKNOWN_SECURITY_TYPE } from "../../read/answerToRows.ts";
import type { DividendData, InstrumentQuote, Quote } from "../../quotes-api/document.ts";
import { quoteWrittenOut } from "../../quotes-api/fields.ts";

/**
 * Assumed: a dividend of 0 without a yield came with the yield that means "no dividend" (field notes, "Answers"). The
 * archive keeps that yield as NULL, so it is written again.
 */
const NO_DIVIDEND_YIELD = "4.9E-324";

/**
 * The quote of a row. NULL becomes an empty element. `underlying` is present if the archive knows the underlying,
 * `undlyquote` if the underlying's quote came in the same answer.
 */
export function quoteFromRow(row: PointInTimeRow): InstrumentQuote {
  const isOption = row.option_type !== null;
  // A root says nothing without its underlying.
  const underlying = isOption ? (row.underlying_symbol ?? (row.root === null ? null : row.symbol)) : null;
  return {
    instrument: {
      description: row.description,
      exchange: row.exchange,
      securityType: row.security_type === UNKNOWN_SECURITY_TYPE ? null : row.security_type,
      symbol: row.symbol,
      root: row.root ?? undefined,
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

const READ_QUOTE = { q: readerOf("q"), u: readerOf("u") };

function readerOf(of: "q" | "u"): (row: PointInTimeRow, dividend: DividendData | null) => Quote {
  return quoteWrittenOut(["row", "dividend"], ({ column }) => `row.${of}_${column}`, "dividend");
}

function readQuote(row: PointInTimeRow, of: "q" | "u"): Quote {
  return READ_QUOTE[of](row, row[`${of}_dividend_found`] ? readDividend(row, of) : null);
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
