/** Answers of the simulated market in Tradier's shapes: quotes, whole chains, and which expirations there are. */
import { type Calendar, createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { expiresAt } from "../../../src/market/expirations.ts";
import { option, security } from "../../../src/market/instrument.ts";
import type { InstrumentQuote } from "../../../src/quotes/document.ts";
import { chance, seedOf } from "../../../src/serve/simulated/hash.ts";
import type { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { momentOf, type Moment } from "../hours.ts";
import {
  chainOf,
  type Contract,
  contractOfSymbol,
  type Expiration,
  expirationsOf,
  type ListingRules,
  type Underlying,
  underlyingOf,
} from "../listing.ts";
import { type Trading, tradingByChance } from "../trading.ts";
import { type Document, number, type Value } from "../wire.ts";
import { greeksAt, writtenGreeks } from "./greeks.ts";
import { priceOfStrike, writtenOption, writtenStock } from "./quotes.ts";
import { list } from "./wire.ts";

export type Answers = {
  quotes: (symbols: readonly string[], asked: { greeks: boolean; at: Date }) => Document;
  chain: (symbol: string, asked: { expiration: string; greeks: boolean; at: Date }) => Document;
  expirations: (symbol: string, asked: ExpirationsAsked & { at: Date }) => Document;
};

/** Flags of /v1/markets/options/expirations. */
export type ExpirationsAsked = {
  includeAllRoots: boolean;
  strikes: boolean;
  contractSize: boolean;
  expirationType: boolean;
};

export type AnswersOptions = ListingRules & {
  market: ReturnType<typeof createSimulatedMarket>;
  /** The hours in which prices move. */
  calendar: Calendar;
  /** How a contract trades, by its OCC symbol; null: by chance. */
  trading: (symbol: string) => Trading | null;
};

/** Contracts expire by the exchange's hours, whatever the hours in which prices move. */
const exchange = createCalendar();

/** What a symbol asks for: one with a point is not known, and a class of shares has a slash. */
function askedUnderlying(symbol: string, rules: ListingRules): Underlying | null {
  return symbol.includes(".") ? null : underlyingOf(symbol.replace(/\/(?=[A-Z]$)/, "."), rules);
}

export function createAnswers(options: AnswersOptions): Answers {
  const { market, calendar, trading } = options;
  let nothings = 0;
  /** In place of an empty list, in turn: null and the text of it. Both are in clients' code. */
  const orNothing = (values: readonly Value[], within: (values: Value) => Value): Value =>
    values.length > 0 ? within(list(values)) : nothings++ % 2 === 0 ? null : "null";

  const stockQuote = (underlying: Underlying, moment: Moment): Value => {
    const key = security(underlying.company.symbol);
    const { quote: traded } = market.quote(key, moment.tradedAt);
    const { quote: book } = market.quote(key, moment.quotedAt);
    return writtenStock(underlying, { traded, book }, moment);
  };

  const optionQuote = (contract: Contract, greeks: boolean, moment: Moment): Value => {
    const quote = market.quote(option(contract.priced), moment.tradedAt);
    const how = trading(contract.symbol) ?? tradingByChance(contract.symbol);
    return writtenOption({
      contract,
      quote,
      moment,
      trading: how,
      greeks: greeks ? greeksOfContract(contract, quote, { moment, how }) : undefined,
    });
  };

  /** Null for one contract in forty: greeks may be missing. */
  function greeksOfContract(
    contract: Contract,
    quote: InstrumentQuote,
    { moment, how }: { moment: Moment; how: Trading },
  ): Value {
    const seed = seedOf(contract.symbol);
    const madeAt = greeksAt(moment.tradedAt);
    const then = market.quote(option(contract.priced), madeAt);
    const spot = then.underlyingQuote?.last;
    if (chance(seed, 10) < 1 / 40 || !spot || then.greeksDelta === null) return null;
    return writtenGreeks({
      company: contract.underlying.company,
      optionType: contract.optionType,
      strike: contract.strike,
      expiresAt: expiresAt(contract.priced, exchange),
      madeAt,
      spot,
      delta: then.greeksDelta,
      hasBid: quote.quote.bid !== "0.0",
      isTraded: how !== "never",
      seed,
    });
  }

  return {
    quotes: (symbols, { greeks, at }) => {
      const moment = momentOf(at, calendar);
      const found: Value[] = [];
      const unknown: string[] = [];
      for (const symbol of new Set(symbols)) {
        const underlying = askedUnderlying(symbol, options);
        const contract = underlying ? null : contractOfSymbol(symbol, options, at);
        if (underlying) found.push(stockQuote(underlying, moment));
        else if (contract) found.push(optionQuote(contract, greeks, moment));
        else unknown.push(symbol);
      }
      return {
        quotes: {
          quote: found.length > 0 ? list(found) : undefined,
          unmatched_symbols: unknown.length > 0 ? { symbol: list(unknown) } : undefined,
        },
      };
    },
    chain: (symbol, { expiration, greeks, at }) => {
      const moment = momentOf(at, calendar);
      const underlying = askedUnderlying(symbol, options);
      const contracts = underlying ? chainOf(underlying, expiration, at) : [];
      const written = contracts.map((contract) => optionQuote(contract, greeks, moment));
      return { options: orNothing(written, (option) => ({ option })) };
    },
    expirations: (symbol, asked) => {
      const underlying = askedUnderlying(symbol, options);
      const listed = underlying
        ? expirationsOf(underlying, asked.at).filter(
            ({ root }) => asked.includeAllRoots || root === underlying.roots[0],
          )
        : [];
      if (underlying && (asked.strikes || asked.contractSize || asked.expirationType))
        return {
          expirations: orNothing(
            listed.map((one) => longExpiration(one, underlying, asked)),
            (expiration) => ({ expiration }),
          ),
        };
      const dates = [...new Set(listed.map(({ date }) => date))];
      return { expirations: orNothing(dates, (date) => ({ date })) };
    },
  };
}

/** Assumed: a date of two roots stands here twice, once for each type. */
function longExpiration(
  { date, type }: Expiration,
  { strikes }: Underlying,
  asked: Omit<ExpirationsAsked, "includeAllRoots">,
): Value {
  return {
    date,
    contract_size: asked.contractSize ? number(100) : undefined,
    expiration_type: asked.expirationType ? type : undefined,
    strikes: asked.strikes ? { strike: list(strikes.map(priceOfStrike)) } : undefined,
  };
}
