/**
 * From the leaf texts of one `instrumentquote` to the words of `document.ts`. Together with `leaves.ts` and
 * `writeDocument.ts` this is the only place that knows the service's spellings.
 */
import type { OptionType } from "../market/instrument.ts";
import type { DividendData, ExtendedQuote, InstrumentQuote, Quote, UnderlyingElement } from "./document.ts";
import { readDate } from "./dateText.ts";
import { ABSENT_TEXTS, readDecimal, readInteger, type Read } from "./decimal.ts";
import { LEAF, LEAF_PATHS, type LeafTexts, type QuoteLeaves } from "./leaves.ts";

/** Thrown inside this file only, and caught in it: the first leaf that cannot be read. */
class LeafProblem extends Error {}

/** One instrument, or what is wrong with it: `problem` names the leaf and its text. */
export type ReadInstrument = { ok: true; item: InstrumentQuote } | { ok: false; problem: string };

/** Reads one instrument from texts by their paths below `instrumentquote`, such as `quote/askprice`. */
export function readInstrument(leaves: ReadonlyMap<string, string>): ReadInstrument {
  return readLeaves(LEAF_PATHS.map((path) => leaves.get(path)));
}

/** Reads one instrument from its texts by their places. */
export function readLeaves(leaves: LeafTexts): ReadInstrument {
  try {
    return { ok: true, item: instrumentQuote(leaves) };
  } catch (error) {
    if (error instanceof LeafProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

function instrumentQuote(leaves: LeafTexts): InstrumentQuote {
  const unknownSymbol = leaves[LEAF.unknownSymbol]?.toLowerCase() === "true";
  const symbol = leaves[LEAF.symbol] ?? "";
  if (symbol === "") throw new LeafProblem("instrument/sym is missing");
  const contract = unknownSymbol ? contractIfWhole(leaves) : contractFields(leaves);
  const instrument = {
    description: nameOf(leaves[LEAF.description]),
    exchange: codeOf(leaves[LEAF.exchange]),
    securityType: contract.optionType !== null ? "OPT" : codeOf(leaves[LEAF.securityType]),
    symbol,
    ...contract,
  };
  if (unknownSymbol) {
    // What an unknown item holds besides its name is not known: nothing else of it is read (field notes).
    return {
      instrument,
      quote: NO_QUOTE,
      greeksDelta: null,
      underlying: null,
      underlyingQuote: null,
      unknownSymbol,
    };
  }
  return {
    instrument,
    quote: readQuote(leaves, LEAF.quote),
    greeksDelta: decimalOf(leaves, LEAF.greeksDelta),
    underlying: readUnderlying(leaves),
    underlyingQuote: hasAny(leaves, LEAF.underlyingQuote) ? readQuote(leaves, LEAF.underlyingQuote) : null,
    unknownSymbol,
  };
}

type ContractFields = { expiration: string | null; optionType: OptionType | null; strike: string | null };

const NO_CONTRACT: ContractFields = { expiration: null, optionType: null, strike: null };

/**
 * The three fields of an option, all or none. An equity may carry them as sentinels (`0001-01-01`, `0`), so the
 * security type decides; where it is missing (older answers), a real maturity date does.
 */
function contractFields(leaves: LeafTexts): ContractFields {
  const securityType = codeOf(leaves[LEAF.securityType]);
  const expiration = dateOf(leaves, LEAF.maturity);
  const isOption = securityType === "OPT" || (securityType === null && expiration !== null);
  if (!isOption) {
    // Only an option has an underlying (specification, "instrumentquote"): its price is not to become the equity's.
    if (nameOf(leaves[LEAF.underlyingSymbol]) !== null)
      throw new LeafProblem(`instrument/sectyp "${(securityType ?? "").slice(0, 40)}" has an underlying`);
    return NO_CONTRACT;
  }
  const strike = decimalOf(leaves, LEAF.strike);
  const putcall = leaves[LEAF.putcall];
  // 1 is a call in the specification, 0 a put in a sibling call's answer (field notes).
  const optionType = putcall === "1" ? "CALL" : putcall === "0" ? "PUT" : null;
  if (expiration === null) throw new LeafProblem("instrument/matdt of an option is missing");
  if (strike === null) throw new LeafProblem("instrument/strkpx of an option is missing");
  if (optionType === null)
    throw new LeafProblem(`instrument/putcall "${(putcall ?? "").slice(0, 40)}" is neither 1 nor 0`);
  return { expiration, optionType, strike };
}

/** An unknown item is read for its name only; half a contract then names nothing. */
function contractIfWhole(leaves: LeafTexts): ContractFields {
  try {
    return contractFields(leaves);
  } catch (error) {
    if (error instanceof LeafProblem) return NO_CONTRACT;
    throw error;
  }
}

function readUnderlying(leaves: LeafTexts): UnderlyingElement | null {
  const symbol = nameOf(leaves[LEAF.underlyingSymbol]);
  if (symbol === null) return null;
  return {
    description: nameOf(leaves[LEAF.underlyingDescription]),
    exchange: codeOf(leaves[LEAF.underlyingExchange]),
    symbol,
  };
}

/** The order decides which of several problems is told. */
function readQuote(leaves: LeafTexts, at: QuoteLeaves): Quote {
  return {
    ask: decimalOf(leaves, at.ask),
    bid: decimalOf(leaves, at.bid),
    change: decimalOf(leaves, at.change),
    last: decimalOf(leaves, at.last),
    pctChange: decimalOf(leaves, at.pctChange),
    extended: {
      high: decimalOf(leaves, at.high),
      low: decimalOf(leaves, at.low),
      open: decimalOf(leaves, at.open),
      previousClose: decimalOf(leaves, at.previousClose),
      earningsPerShare: decimalOf(leaves, at.earningsPerShare),
      high52Week: decimalOf(leaves, at.high52Week),
      low52Week: decimalOf(leaves, at.low52Week),
      peRatio: decimalOf(leaves, at.peRatio),
      contractHigh: decimalOf(leaves, at.contractHigh),
      contractLow: decimalOf(leaves, at.contractLow),
      delta: decimalOf(leaves, at.delta),
      askSize: integerOf(leaves, at.askSize),
      bidSize: integerOf(leaves, at.bidSize),
      volume: integerOf(leaves, at.volume),
      sessionVolume: integerOf(leaves, at.sessionVolume),
      contractSize: integerOf(leaves, at.contractSize),
      dividend: readDividend(leaves, at),
    },
  };
}

function readDividend(leaves: LeafTexts, at: QuoteLeaves): DividendData | null {
  const isThere =
    leaves[at.dividendAmount] !== undefined ||
    leaves[at.dividendExDate] !== undefined ||
    leaves[at.dividendYield] !== undefined;
  if (!isThere) return null;
  return {
    amount: decimalOf(leaves, at.dividendAmount),
    exDate: dateOf(leaves, at.dividendExDate),
    yield: decimalOf(leaves, at.dividendYield),
  };
}

function decimalOf(leaves: LeafTexts, leaf: number): string | null {
  return need(readDecimal(leaves[leaf]), leaf);
}

function integerOf(leaves: LeafTexts, leaf: number): string | null {
  return need(readInteger(leaves[leaf]), leaf);
}

function dateOf(leaves: LeafTexts, leaf: number): string | null {
  return need(readDate(leaves[leaf]), leaf);
}

function need<T>(read: Read<T>, leaf: number): T | null {
  if (read.ok) return read.value;
  throw new LeafProblem(`${LEAF_PATHS[leaf]}: ${read.problem}`);
}

/** A symbol or a description: only emptiness means absence, `NaN` and `null` can be names. */
function nameOf(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}

/** An exchange or a security type. */
function codeOf(text: string | undefined): string | null {
  return text === undefined || ABSENT_TEXTS.has(text.toLowerCase()) ? null : text;
}

function hasAny(leaves: LeafTexts, { first, end }: QuoteLeaves): boolean {
  for (let place = first; place < end; place++) if (leaves[place] !== undefined) return true;
  return false;
}

const NO_EXTENDED: ExtendedQuote = {
  askSize: null,
  bidSize: null,
  high: null,
  low: null,
  open: null,
  previousClose: null,
  volume: null,
  dividend: null,
  earningsPerShare: null,
  high52Week: null,
  low52Week: null,
  peRatio: null,
  sessionVolume: null,
  contractHigh: null,
  contractLow: null,
  contractSize: null,
  delta: null,
};

/** A quote in which every element is absent, as an unknown instrument has it. */
export const NO_QUOTE: Quote = {
  ask: null,
  bid: null,
  change: null,
  last: null,
  pctChange: null,
  extended: NO_EXTENDED,
};
