/**
 * From the leaf texts of one `instrumentquote` to the words of `document.ts`. Together with `fields.ts`,
 * `leaves.ts` and `writeDocument.ts` this is the only place that knows the service's spellings.
 */
import { inCapitals, type OptionType } from "../../market/instrument.ts";
import { archivedSymbol, isRoot, withRoot } from "../../market/root.ts";
import {
  type DividendData,
  type InstrumentQuote,
  makeQuote,
  type Quote,
  unknownItem,
  type UnderlyingElement,
  type OddField,
} from "../../quotes/document.ts";
import { readDate, Fields, readName, readCode, codeOf, quoted } from "./leafValues.ts";
import { LEAF, type LeafTexts, type QuoteLeaves } from "./leaves.ts";

/**
 * One instrument and the fields of it that could not be read; or, when it cannot be told which instrument it is (symbol,
 * and of an option expiration, type and strike), why. `isOption` is null where it does not say that either.
 */
type ReadInstrument =
  | { ok: true; item: InstrumentQuote; oddFields: readonly OddField[] }
  | { ok: false; problem: string; isOption: boolean | null };

/**
 * Reads one instrument from its texts by their places.
 *
 * @param damaged what is wrong with the form of a leaf, by its place: its text is not to be read
 */
export function readLeaves(
  leaves: LeafTexts,
  damaged: ReadonlyMap<number, string> | null = null,
): ReadInstrument {
  const fields = new Fields(leaves, damaged);
  const item = instrumentQuote(fields);
  if (item !== null) return { ok: true, item, oddFields: fields.odd };
  return { ok: false, problem: fields.unnamed ?? "", isOption: isOption(leaves, damaged) };
}

/** Whether an item that cannot be named is an option, as far as it says so itself. */
export function isOption(leaves: LeafTexts, damaged: ReadonlyMap<number, string> | null): boolean | null {
  const type = codeOf(leaves[LEAF.securityType] ?? "");
  if (type === null || damaged?.has(LEAF.securityType)) return null;
  if (type === "OPT") return true;
  return (leaves[LEAF.underlyingSymbol] ?? "") === "" ? false : null;
}

/** @returns null: it is unnamed */
function instrumentQuote(fields: Fields): InstrumentQuote | null {
  const unknownSymbol = fields.flag(LEAF.unknownSymbol);
  const named = fields.naming(LEAF.symbol, readName(fields.text(LEAF.symbol)));
  if (named === null) return fields.noteUnnamed("instrument/sym is missing");
  const symbol = archivedSymbol(named);
  // What an unknown item holds besides its name is not known: nothing else of it is read (field notes).
  if (unknownSymbol) return unknownOf(symbol, fields);
  const contract = contractFields(fields);
  if (contract === null) return null;
  const item = {
    instrument: {
      description: fields.name(LEAF.description),
      exchange: fields.code(LEAF.exchange),
      securityType: contract.optionType !== null ? "OPT" : securityType(fields),
      symbol,
      ...contract,
    },
    quote: readQuote(fields, LEAF.quote),
    greeksDelta: fields.number(LEAF.greeksDelta),
    underlying: readUnderlying(fields),
    underlyingQuote: hasAny(fields, LEAF.underlyingQuote) ? readQuote(fields, LEAF.underlyingQuote) : null,
    unknownSymbol,
  };
  return contract.optionType === null ? item : namedByUnderlying(item);
}

/** Assumed: an option whose `sym` is another than its underlying's has its root there, as SPXW of SPX. */
function namedByUnderlying(item: InstrumentQuote): InstrumentQuote {
  const { symbol } = item.instrument;
  const underlying = item.underlying?.symbol ?? symbol;
  if (inCapitals(underlying) === inCapitals(symbol) || !isRoot(symbol)) return item;
  const { root } = withRoot(underlying, symbol);
  if (root === undefined) return item;
  return { ...item, instrument: { ...item.instrument, symbol: underlying, root } };
}

type ContractFields = { expiration: string | null; optionType: OptionType | null; strike: string | null };

const NO_CONTRACT: ContractFields = { expiration: null, optionType: null, strike: null };

function securityType(fields: Fields): string | null {
  const read = readName(fields.text(LEAF.securityType));
  return fields.naming(LEAF.securityType, read.ok ? readCode(read.value ?? "") : read);
}

/**
 * The three fields of an option, all or none; null: the instrument is unnamed. An equity may carry them as sentinels (`0001-01-01`, `0`), so the
 * security type decides; where it is missing (older answers), a real maturity date does.
 */
function contractFields(fields: Fields): ContractFields | null {
  const type = securityType(fields);
  const isSecurity = type !== null && type !== "OPT";
  const expiration = isSecurity ? null : fields.naming(LEAF.maturity, readDate(fields.text(LEAF.maturity)));
  if (isSecurity || (type === null && expiration === null)) {
    // Only an option has an underlying (specification, "instrumentquote"): its price is not to become the equity's.
    if (fields.text(LEAF.underlyingSymbol) !== "")
      fields.noteUnnamed(`instrument/sectyp ${quoted(type ?? "")} has an underlying`);
    return fields.unnamed === null ? NO_CONTRACT : null;
  }
  const strike = fields.naming(LEAF.strike, fields.readNumber(LEAF.strike));
  if (expiration === null) fields.noteUnnamed("instrument/matdt of an option is missing");
  if (strike === null) fields.noteUnnamed("instrument/strkpx of an option is missing");
  const optionType = optionTypeOf(fields);
  return fields.unnamed === null ? { expiration, optionType, strike } : null;
}

/** 1 is a call in the specification, 0 a put in a sibling call's answer (field notes). */
function optionTypeOf(fields: Fields): OptionType | null {
  const putcall = fields.naming(LEAF.putcall, { ok: true, value: fields.text(LEAF.putcall) });
  if (putcall === "1") return "CALL";
  if (putcall === "0") return "PUT";
  return fields.noteUnnamed(`instrument/putcall ${quoted(putcall ?? "")} is neither 1 nor 0`);
}

function unknownOf(symbol: string, fields: Fields): InstrumentQuote {
  // An unknown item is read for its name only; half a contract then names nothing.
  const contract = contractFields(fields) ?? NO_CONTRACT;
  return unknownItem({
    description: fields.text(LEAF.description) || null,
    exchange: codeOf(fields.text(LEAF.exchange)),
    securityType: contract.optionType !== null ? "OPT" : codeOf(fields.text(LEAF.securityType)),
    symbol,
    ...contract,
  });
}

function readUnderlying(fields: Fields): UnderlyingElement | null {
  const symbol = fields.symbol(LEAF.underlyingSymbol);
  if (symbol === null) {
    if (fields.text(LEAF.underlyingSymbol) === "" && saysAny(fields, LEAF.underlyingQuote))
      fields.addOdd(LEAF.underlyingSymbol, "is missing, and undlyquote is nobody's");
    return null;
  }
  return {
    description: fields.name(LEAF.underlyingDescription),
    exchange: fields.code(LEAF.underlyingExchange),
    symbol: archivedSymbol(symbol),
  };
}

/** Fields are read in the order in which odd ones are told. */
function readQuote(fields: Fields, { values, dividend }: QuoteLeaves): Quote {
  return makeQuote(
    ({ name }) => (values[name] > 0 ? fields.number(values[name]) : null),
    () => readDividend(fields, dividend),
  );
}

function readDividend(fields: Fields, at: QuoteLeaves["dividend"]): DividendData | null {
  const isThere = fields.has(at.amount) || fields.has(at.exDate) || fields.has(at.yield);
  if (!isThere) return null;
  return {
    amount: fields.number(at.amount),
    exDate: fields.date(at.exDate),
    yield: fields.yield(at.yield),
  };
}

function saysAny(fields: Fields, { first, end }: QuoteLeaves): boolean {
  for (let place = first; place < end; place++) if (fields.text(place) !== "") return true;
  return false;
}

function hasAny(fields: Fields, { first, end }: QuoteLeaves): boolean {
  for (let place = first; place < end; place++) if (fields.has(place)) return true;
  return false;
}
