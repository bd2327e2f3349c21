/** Answers of the simulated market in E*TRADE's shapes: quotes, chains, and which expirations there are. */
import type { Calendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { inCapitals, option, security } from "../../../src/market/instrument.ts";
import type { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import {
  chainOf,
  type Contract,
  contractOfSymbol,
  expirationsOf,
  type ListingRules,
  type Underlying,
  underlyingOf,
} from "../listing.ts";
import { type Trading, tradingByChance } from "../trading.ts";
import { type Document, number, type Value } from "../wire.ts";
import { behindPairs, expiryTypeOf, writtenExpiration, writtenSide } from "./chains.ts";
import { type ContractFacts, factsOf } from "./contract.ts";
import { writtenOption, writtenWithGreeks } from "./option.ts";
import { writtenStock } from "./stock.ts";
import { type Instant, instantOf } from "./times.ts";
import { Problem } from "./wire.ts";

/** Codes of the stored table of errors. */
const INVALID_SYMBOL = 10_033;

export type DetailFlag = "ALL" | "OPTIONS";

/** Of the parameters of a chain, what the simulated market can tell apart. */
export type ChainAsked = {
  /** `YYYY-MM-DD`; null: the nearest one. */
  date: string | null;
  includeWeekly: boolean;
  isMini: boolean;
  sides: readonly ("Call" | "Put")[];
  /** The strikes nearest to `near`, or to the underlying's price; null: all. */
  noOfStrikes: number | null;
  near: number | null;
};

export type Answers = {
  quotes: (symbols: readonly string[], asked: { detail: DetailFlag; at: Date }) => Document | Problem;
  chain: (symbol: string, asked: ChainAsked & { at: Date }) => Document | Problem;
  /** @param asked.type ALL, MONTHLY, WEEKLY ... */
  expirations: (symbol: string, asked: { type: string; at: Date }) => Document | Problem;
};

export type AnswersOptions = ListingRules & {
  market: ReturnType<typeof createSimulatedMarket>;
  /** The hours in which prices move. */
  calendar: Calendar;
  /** How a contract trades, by its OCC symbol; null: by chance. */
  trading: (symbol: string) => Trading | null;
  /** Quotes are 15 minutes old, as without a signed agreement on market data. */
  delayed: boolean;
  /**
   * What becomes of a symbol that is unknown: the other quotes come with `Messages`, or the whole call is refused.
   *
   * Assumed: the first. Clients have types of it; both are in the stored table, and no full sample of either is public.
   */
  unknownSymbols: "messages" | "refused";
};

export function createAnswers(options: AnswersOptions): Answers {
  const { market, calendar, trading, delayed, unknownSymbols } = options;

  const facts = (contract: Contract, instant: Instant): ContractFacts =>
    factsOf(contract, market.quote(option(contract.priced), instant.moment.tradedAt), {
      instant,
      trading: trading(contract.symbol) ?? tradingByChance(contract.symbol),
    });

  const stockQuote = (underlying: Underlying, instant: Instant): Value => {
    const key = security(underlying.company.symbol);
    const { quote: traded } = market.quote(key, instant.moment.tradedAt);
    const { quote: book } = market.quote(key, instant.moment.quotedAt);
    return writtenStock(underlying, { traded, book }, instant);
  };

  /** Null: unknown. Assumed: a stock has `All` also where OPTIONS are asked for. */
  function quoteOf(symbol: string, { detail, instant }: { detail: DetailFlag; instant: Instant }): Value {
    const underlying = underlyingOf(symbol, options);
    if (underlying) return stockQuote(underlying, instant);
    const contract = contractOfName(symbol, options, instant.asked);
    if (!contract) return null;
    const written = detail === "OPTIONS" ? writtenWithGreeks : writtenOption;
    return written(contract, facts(contract, instant), instant);
  }

  return {
    quotes: (symbols, { detail, at }) => {
      const instant = instantOf(at, calendar, delayed);
      const found: Value[] = [];
      const unknown: string[] = [];
      for (const symbol of new Set(symbols)) {
        const quote = quoteOf(symbol, { detail, instant });
        if (quote === null) unknown.push(symbol);
        else found.push(quote);
      }
      const [first] = unknown;
      if (first !== undefined && unknownSymbols === "refused") return invalidSymbol(first);
      return {
        QuoteResponse: {
          QuoteData: found.length > 0 ? found : undefined,
          Messages: unknown.length > 0 ? { Message: unknown.map(messageOf) } : undefined,
        },
      };
    },
    chain: (symbol, asked) => {
      const underlying = underlyingOf(symbol, options);
      if (!underlying) return invalidSymbol(symbol);
      const date = asked.date ?? nearestDate(underlying, asked);
      const contracts = date === null ? [] : listedIn(underlying, date, asked);
      if (date === null || contracts.length === 0) return noOptions(symbol);
      const instant = instantOf(asked.at, calendar, delayed);
      const { last: spot } = market.quote(security(underlying.company.symbol), instant.moment.tradedAt).quote;
      const kept = nearStrikes(contracts, asked.noOfStrikes, asked.near ?? Number(spot));
      const pairs = pairsOf(kept).map((pair) => {
        const side = (contract: Contract | undefined): Value | undefined =>
          contract && writtenSide(contract, facts(contract, instant), instant);
        return {
          Call: asked.sides.includes("Call") ? side(pair.CALL) : undefined,
          Put: asked.sides.includes("Put") ? side(pair.PUT) : undefined,
        };
      });
      return { OptionChainResponse: { OptionPair: pairs, ...behindPairs(date, spot, instant) } };
    },
    expirations: (symbol, { type, at }) => {
      const underlying = underlyingOf(symbol, options);
      if (!underlying) return invalidSymbol(symbol);
      // A date of two roots comes once: the own root's stands first.
      const byDate = new Map(
        expirationsOf(underlying, at)
          .reverse()
          .map((one) => [one.date, one]),
      );
      const listed = [...byDate.values()].reverse();
      const wanted = listed.filter((one) => type === "ALL" || expiryTypeOf(one) === type);
      if (wanted.length === 0) return noOptions(symbol);
      return { OptionExpireDateResponse: { ExpirationDate: wanted.map(writtenExpiration) } };
    },
  };
}

/** Assumed: the words. */
function invalidSymbol(symbol: string): Problem {
  return new Problem(400, INVALID_SYMBOL, `${symbol} is an invalid symbol`);
}

/** Assumed: status, code and words. */
function noOptions(symbol: string): Problem {
  return new Problem(400, 10_031, `There are no options of ${symbol} for what was asked`);
}

/** Element names: etrade-cli. Assumed: words, code and type. */
function messageOf(symbol: string): Value {
  const { code, message } = invalidSymbol(symbol);
  return { description: message, code: number(code ?? 0), type: "WARNING" };
}

/** Assumed: without `includeWeekly=true` the contracts of weekly expirations are left out, also where their date is asked for. */
function listedIn(
  underlying: Underlying,
  date: string,
  { includeWeekly, isMini, at }: ChainAsked & { at: Date },
) {
  if (isMini) return [];
  return chainOf(underlying, date, at).filter(
    ({ expiration }) => includeWeekly || expiryTypeOf(expiration) === "MONTHLY",
  );
}

function nearestDate(
  underlying: Underlying,
  { includeWeekly, at }: ChainAsked & { at: Date },
): string | null {
  const listed = expirationsOf(underlying, at);
  return listed.find((one) => includeWeekly || expiryTypeOf(one) === "MONTHLY")?.date ?? null;
}

function nearStrikes(contracts: Contract[], most: number | null, near: number): Contract[] {
  if (most === null) return contracts;
  const distance = (strike: string): number => Math.abs(Number(strike) - near);
  const strikes = [...new Set(contracts.map(({ strike }) => strike))];
  const nearest = new Set(strikes.sort((one, other) => distance(one) - distance(other)).slice(0, most));
  return contracts.filter(({ strike }) => nearest.has(strike));
}

/** Ascending by strike; of two roots one after the other. */
function pairsOf(contracts: readonly Contract[]): Partial<Record<"CALL" | "PUT", Contract>>[] {
  const pairs = new Map<string, Partial<Record<"CALL" | "PUT", Contract>>>();
  for (const contract of contracts) {
    const name = `${contract.expiration.root} ${contract.strike}`;
    pairs.set(name, { ...pairs.get(name), [contract.optionType]: contract });
  }
  return [...pairs.values()];
}

const NAME = /^([^:]+):(\d{4}):(\d{1,2}):(\d{1,2}):(CALL|PUT):(\d{1,5})(?:\.(\d{1,6}))?$/;

/**
 * The contract of a name such as `IBM:2018:8:17:CALL:200.000000`; null when it is not listed.
 *
 * Assumed: the first part is an underlier, which stands for its own root, or a further root.
 */
function contractOfName(name: string, rules: ListingRules, at: Date): Contract | null {
  const [, symbol = "", year = "", month = "", day = "", type = "", whole = "", fraction = ""] =
    NAME.exec(inCapitals(name)) ?? [];
  if (symbol === "" || /[1-9]/.test(fraction.slice(3))) return null;
  const root = underlyingOf(symbol, rules)?.roots[0] ?? symbol;
  const date = year.slice(2) + month.padStart(2, "0") + day.padStart(2, "0");
  const strike = whole.padStart(5, "0") + fraction.slice(0, 3).padEnd(3, "0");
  return contractOfSymbol(`${root}${date}${type.slice(0, 1)}${strike}`, rules, at);
}
