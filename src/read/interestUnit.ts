/** Open interest that came without a quote, as a row of its own. Pure. */
import type { Instant } from "../ground/clock.ts";
import { canonicalDecimal } from "../quotes/decimal.ts";
import { NO_QUOTE, type OpenInterest } from "../quotes/document.ts";
import type { QuoteUnit } from "./rowTypes.ts";

/** Of the instant at which it was said, with its date. */
export function interestUnit({ contract, date, openInterest }: OpenInterest, observedAt: Instant): QuoteUnit {
  const { underlying, root, expiration, optionType, strike } = contract;
  return {
    observedAt,
    delayed: false,
    instrument: {
      securityType: "OPT",
      symbol: underlying,
      root,
      expiration,
      optionType,
      strike: canonicalDecimal(strike),
      exchange: null,
      description: null,
      contractSize: null,
      underlying,
      assumedType: false,
    },
    quote: { ...NO_QUOTE, extended: { ...NO_QUOTE.extended, openInterest, openInterestDate: date } },
    greeksDelta: null,
    fragment: null,
    interestOnly: true,
  };
}
