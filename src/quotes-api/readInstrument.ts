/**
 * From the leaf texts of one `instrumentquote` to the words of `document.ts`. Together with `writeDocument.ts`
 * this is the only place that knows the service's spellings.
 */
import type { OptionType } from "../market/instrument.ts";
import type { DividendData, ExtendedQuote, InstrumentQuote, Quote, UnderlyingElement } from "./document.ts";
import { readDate } from "./dateText.ts";
import { ABSENT_TEXTS, readDecimal, readInteger, type Read } from "./decimal.ts";

const QUOTE_DECIMALS = {
  ask: "askprice",
  bid: "bidprice",
  change: "change",
  last: "lastprice",
  pctChange: "pctchange",
} as const;

const EXTENDED_DECIMALS = {
  high: "highprice",
  low: "lowprice",
  open: "openprice",
  previousClose: "prevclose",
  earningsPerShare: "earningspershare",
  high52Week: "high52price",
  low52Week: "low52price",
  peRatio: "priceearningsratio",
  contractHigh: "contracthigh",
  contractLow: "contractlow",
  delta: "delta",
} as const;

const EXTENDED_INTEGERS = {
  askSize: "asksize",
  bidSize: "bidsize",
  volume: "volume",
  sessionVolume: "sessionvolume",
  contractSize: "contractsize",
} as const;

const DIVIDEND_LEAVES = ["amt", "exdate", "yield"];

function quoteLeaves(root: string): string[] {
  return [
    ...Object.values(QUOTE_DECIMALS).map((name) => `${root}/${name}`),
    ...[...Object.values(EXTENDED_DECIMALS), ...Object.values(EXTENDED_INTEGERS)].map(
      (name) => `${root}/extendedquote/${name}`,
    ),
    ...DIVIDEND_LEAVES.map((name) => `${root}/extendedquote/dividenddata/${name}`),
  ];
}

/** Every leaf below `instrumentquote` that is read, as its path; all others are passed over. */
export const LEAVES: ReadonlySet<string> = new Set([
  "greeks/delta",
  "instrument/desc",
  "instrument/exch",
  "instrument/sectyp",
  "instrument/sym",
  "instrument/matdt",
  "instrument/putcall",
  "instrument/strkpx",
  ...quoteLeaves("quote"),
  "underlying/desc",
  "underlying/exch",
  "underlying/sym",
  ...quoteLeaves("undlyquote"),
  "unknownsymbol",
]);

/** Thrown inside this file only, and caught in it: the first leaf that cannot be read. */
class LeafProblem extends Error {}

/** Reads one instrument; `problem` names the leaf and its text. */
export function readInstrument(
  leaves: ReadonlyMap<string, string>,
): { ok: true; item: InstrumentQuote } | { ok: false; problem: string } {
  try {
    return { ok: true, item: instrumentQuote(leaves) };
  } catch (error) {
    if (error instanceof LeafProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

type Leaves = ReadonlyMap<string, string>;

function instrumentQuote(leaves: Leaves): InstrumentQuote {
  const unknownSymbol = leaves.get("unknownsymbol")?.toLowerCase() === "true";
  const symbol = leaves.get("instrument/sym") ?? "";
  if (symbol === "") throw new LeafProblem("instrument/sym is missing");
  const contract = unknownSymbol ? contractIfWhole(leaves) : contractFields(leaves);
  const instrument = {
    description: textOf(leaves, "instrument/desc"),
    exchange: textOf(leaves, "instrument/exch"),
    securityType: contract.optionType !== null ? "OPT" : textOf(leaves, "instrument/sectyp"),
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
    quote: readQuote(leaves, "quote"),
    greeksDelta: decimalOf(leaves, "greeks/delta"),
    underlying: readUnderlying(leaves),
    underlyingQuote: hasAny(leaves, "undlyquote/") ? readQuote(leaves, "undlyquote") : null,
    unknownSymbol,
  };
}

type ContractFields = { expiration: string | null; optionType: OptionType | null; strike: string | null };

const NO_CONTRACT: ContractFields = { expiration: null, optionType: null, strike: null };

/**
 * The three fields of an option, all or none. An equity may carry them as sentinels (`0001-01-01`, `0`), so the
 * security type decides; where it is missing (older answers), a real maturity date does.
 */
function contractFields(leaves: Leaves): ContractFields {
  const securityType = textOf(leaves, "instrument/sectyp");
  const expiration = need(readDate(leaves.get("instrument/matdt")), "instrument/matdt");
  const isOption = securityType === "OPT" || (securityType === null && expiration !== null);
  if (!isOption) {
    // Only an option has an underlying (specification, "instrumentquote"): its price is not to become the equity's.
    if (textOf(leaves, "underlying/sym") !== null)
      throw new LeafProblem(`instrument/sectyp "${(securityType ?? "").slice(0, 40)}" has an underlying`);
    return NO_CONTRACT;
  }
  const strike = decimalOf(leaves, "instrument/strkpx");
  const putcall = leaves.get("instrument/putcall");
  // 1 is a call in the specification, 0 a put in a sibling call's answer (field notes).
  const optionType = putcall === "1" ? "CALL" : putcall === "0" ? "PUT" : null;
  if (expiration === null) throw new LeafProblem("instrument/matdt of an option is missing");
  if (strike === null) throw new LeafProblem("instrument/strkpx of an option is missing");
  if (optionType === null)
    throw new LeafProblem(`instrument/putcall "${(putcall ?? "").slice(0, 40)}" is neither 1 nor 0`);
  return { expiration, optionType, strike };
}

/** An unknown item is read for its name only; half a contract then names nothing. */
function contractIfWhole(leaves: Leaves): ContractFields {
  try {
    return contractFields(leaves);
  } catch (error) {
    if (error instanceof LeafProblem) return NO_CONTRACT;
    throw error;
  }
}

function readUnderlying(leaves: Leaves): UnderlyingElement | null {
  const symbol = textOf(leaves, "underlying/sym");
  if (symbol === null) return null;
  return {
    description: textOf(leaves, "underlying/desc"),
    exchange: textOf(leaves, "underlying/exch"),
    symbol,
  };
}

function readQuote(leaves: Leaves, root: string): Quote {
  return {
    ...readAll(leaves, root, QUOTE_DECIMALS, readDecimal),
    extended: {
      ...readAll(leaves, `${root}/extendedquote`, EXTENDED_DECIMALS, readDecimal),
      ...readAll(leaves, `${root}/extendedquote`, EXTENDED_INTEGERS, readInteger),
      dividend: readDividend(leaves, `${root}/extendedquote/dividenddata`),
    },
  };
}

function readDividend(leaves: Leaves, root: string): DividendData | null {
  if (!hasAny(leaves, `${root}/`)) return null;
  return {
    amount: decimalOf(leaves, `${root}/amt`),
    exDate: need(readDate(leaves.get(`${root}/exdate`)), `${root}/exdate`),
    yield: decimalOf(leaves, `${root}/yield`),
  };
}

function readAll<K extends string>(
  leaves: Leaves,
  root: string,
  fields: Readonly<Record<K, string>>,
  read: (text: string | undefined) => Read<string>,
): Record<K, string | null> {
  const result = {} as Record<K, string | null>;
  for (const field in fields) {
    const leaf = `${root}/${fields[field]}`;
    result[field] = need(read(leaves.get(leaf)), leaf);
  }
  return result;
}

function decimalOf(leaves: Leaves, leaf: string): string | null {
  return need(readDecimal(leaves.get(leaf)), leaf);
}

function need<T>(read: Read<T>, leaf: string): T | null {
  if (read.ok) return read.value;
  throw new LeafProblem(`${leaf}: ${read.problem}`);
}

/** Text of a leaf that is a name: only emptiness means absence, `NaN` and `null` can be names. */
function textOf(leaves: Leaves, leaf: string): string | null {
  const text = leaves.get(leaf);
  if (text === undefined || text === "") return null;
  return leaf.endsWith("/sym") || leaf.endsWith("/desc")
    ? text
    : ABSENT_TEXTS.has(text.toLowerCase())
      ? null
      : text;
}

function hasAny(leaves: Leaves, prefix: string): boolean {
  for (const leaf of leaves.keys()) if (leaf.startsWith(prefix)) return true;
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
