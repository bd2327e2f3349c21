/**
 * Alpaca's feeds: the same call is answered from one exchange, from all of them, or from changed quotes, and nothing in the answer says
 * from which. So the feed is always asked for, decides whether quotes are delayed, and is a source of its own (FAQ, market data).
 */
import type { QuoteCall } from "../../quotes/call.ts";
import { optionValue, type OptionValues, type ServiceOption } from "../service.ts";
import { isOfContracts } from "./writeAlpaca.ts";

/** The market's own quotes, 15 minutes late, are free, and the default: IEX is one exchange with 1 to 3 percent of the volume. */
export const STOCK_FEEDS = {
  name: "stockFeed",
  variable: "QUOTES_ALPACA_STOCK_FEED",
  does: "Where quotes of stocks come from: `delayed_sip`, all exchanges 15 minutes late; `iex`, one exchange in real time; `sip`, all exchanges in real time, by subscription.",
  values: ["delayed_sip", "iex", "sip"],
} as const satisfies ServiceOption;

/** Quotes of `indicative` are changed by the service, and its trades are 15 minutes late. */
export const OPTION_FEEDS = {
  name: "optionFeed",
  variable: "QUOTES_ALPACA_OPTION_FEED",
  does: "Where quotes of options come from: `indicative`, free, quotes that the service has changed and trades 15 minutes late; `opra`, the market's own, by subscription.",
  values: ["indicative", "opra"],
} as const satisfies ServiceOption;

const SERVICE = "alpaca";

/** Feeds whose quotes or trades are 15 minutes late. */
const DELAYED: ReadonlySet<string> = new Set(["delayed_sip", "indicative"]);

export function isDelayedFeed(feed: string | undefined): boolean {
  return DELAYED.has(feed ?? "");
}

/** A call with its feed, and with the first date of the contracts that are listed. */
export function completeAlpaca(
  call: QuoteCall,
  { options, today }: { options: OptionValues; today: string },
): QuoteCall {
  if (call.form === "expirations") return { ...call, from: today };
  const isOfStocks = call.form === "symbols" && !isOfContracts(call.symbols);
  // The underlyings' prices are of the stock feed, whose choice must not change what older rows mean.
  return {
    ...call,
    feed: optionValue(isOfStocks ? STOCK_FEEDS : OPTION_FEEDS, options),
    ...(!isOfStocks && { spotFeed: optionValue(STOCK_FEEDS, options) }),
  };
}

/** Open interest and expirations come from no feed. */
export function sourceOfFeed(call: QuoteCall): { name: string; spot?: string; interest?: string } {
  const { feed, spotFeed } = call;
  if (feed === undefined) return { name: SERVICE };
  const name = `${SERVICE} ${feed}`;
  if (spotFeed === undefined) return { name };
  return { name: `${name} beside ${spotFeed}`, spot: `${SERVICE} ${spotFeed}`, interest: SERVICE };
}
