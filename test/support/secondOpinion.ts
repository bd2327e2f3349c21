/**
 * A second reader of answers, independent of ours: saxes, and the names of the elements as the specification's tables have them.
 */
import type { InstrumentQuote, Quote } from "../../src/quotes/document.ts";
import { type Opinion, secondOpinion } from "./saxes.ts";

/** The text of each element that says something, by its path below `instrumentquote`. */
export type Leaves = Record<string, string>;

/** The elements of a quote, and what they are called in our words. */
export const QUOTE_ELEMENTS = {
  askprice: "ask",
  bidprice: "bid",
  change: "change",
  lastprice: "last",
  pctchange: "pctChange",
} as const;

/** The elements of an `extendedquote` but for `dividenddata`. */
export const EXTENDED_ELEMENTS = {
  asksize: "askSize",
  bidsize: "bidSize",
  highprice: "high",
  lowprice: "low",
  openprice: "open",
  prevclose: "previousClose",
  volume: "volume",
  earningspershare: "earningsPerShare",
  high52price: "high52Week",
  low52price: "low52Week",
  priceearningsratio: "peRatio",
  sessionvolume: "sessionVolume",
  contracthigh: "contractHigh",
  contractlow: "contractLow",
  contractsize: "contractSize",
  delta: "delta",
} as const;

/** The instruments of an answer as saxes reads them, in the order of the answer. */
export function parsedItems(body: Uint8Array): Leaves[] {
  const { elements } = secondOpinion(new TextDecoder().decode(body));
  const named = (name: string) => (element: Opinion) => element.name === name;
  return elements
    .filter(named("quotes"))
    .flatMap((quotes) => quotes.elements.filter(named("instrumentquote")))
    .map((item) => leavesIn(item, ""));
}

/** The first of several elements of one name. */
function leavesIn({ elements }: Opinion, path: string): Leaves {
  const leaves: Leaves = {};
  for (const element of elements) {
    const at = path === "" ? element.name : `${path}/${element.name}`;
    if (element.elements.length > 0) Object.assign(leaves, leavesIn(element, at));
    else leaves[at] ??= element.text.trim();
  }
  return leaves;
}

/** `parsedItems` with every value in one form, and without what says nothing or is not in the specification. */
export function independentReading(body: Uint8Array): Leaves[] {
  return parsedItems(body).map((raw) => {
    const unknown = raw["unknownsymbol"] === "true";
    const isOption = raw["instrument/sectyp"] === "OPT" || !raw["instrument/sectyp"];
    const leaves: Leaves = { unknownsymbol: String(unknown) };
    for (const [path, text] of Object.entries(raw)) {
      const value = valueOf(path, text);
      if (value === null || !isSpecified(path)) continue;
      if (unknown && !path.startsWith("instrument/")) continue;
      // Sentinels of an equity: the specification has these elements for options only.
      if (!isOption && /^instrument\/(matdt|putcall|strkpx)$/.test(path)) continue;
      leaves[path] = value;
    }
    if (!("instrument/sectyp" in leaves) && "instrument/matdt" in leaves) leaves["instrument/sectyp"] = "OPT";
    return leaves;
  });
}

/** What our reader read, in the same form. */
export function leavesOf(item: InstrumentQuote): Leaves {
  const { instrument, underlying, underlyingQuote } = item;
  const all: Record<string, string | null | undefined> = {
    unknownsymbol: String(item.unknownSymbol),
    "greeks/delta": decimal(item.greeksDelta),
    "instrument/desc": instrument.description,
    "instrument/exch": instrument.exchange,
    "instrument/sectyp": instrument.securityType,
    // The reader names an option by its underlying. Where `sym` is another word, that word is the root.
    "instrument/sym": instrument.root ?? instrument.symbol,
    "instrument/matdt": instrument.expiration,
    "instrument/putcall": instrument.optionType && (instrument.optionType === "CALL" ? "1" : "0"),
    "instrument/strkpx": decimal(instrument.strike),
    "underlying/desc": underlying?.description,
    "underlying/exch": underlying?.exchange,
    "underlying/sym": underlying?.symbol,
    ...quoteLeaves("quote", item.quote),
    ...(underlyingQuote && quoteLeaves("undlyquote", underlyingQuote)),
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function quoteLeaves(root: string, quote: Quote): Record<string, string | null | undefined> {
  const { dividend } = quote.extended;
  return {
    ...Object.fromEntries(
      Object.entries(QUOTE_ELEMENTS).map(([name, word]) => [`${root}/${name}`, decimal(quote[word])]),
    ),
    ...Object.fromEntries(
      Object.entries(EXTENDED_ELEMENTS).map(([name, word]) => [
        `${root}/extendedquote/${name}`,
        decimal(quote.extended[word]),
      ]),
    ),
    [`${root}/extendedquote/dividenddata/amt`]: decimal(dividend?.amount ?? null),
    [`${root}/extendedquote/dividenddata/exdate`]: dividend?.exDate,
    [`${root}/extendedquote/dividenddata/yield`]: decimal(dividend?.yield ?? null),
  };
}

const TEXT_ELEMENTS = /^(instrument|underlying)\/(desc|exch|sectyp|sym)$/;

const SPECIFIED = new RegExp(
  `^(unknownsymbol|greeks/delta|(instrument|underlying)/(desc|exch|sectyp|sym|matdt|putcall|strkpx)|` +
    `(quote|undlyquote)/(${Object.keys(QUOTE_ELEMENTS).join("|")}|` +
    `extendedquote/(${Object.keys(EXTENDED_ELEMENTS).join("|")}|dividenddata/(amt|exdate|yield))))$`,
);

function isSpecified(path: string): boolean {
  return SPECIFIED.test(path) && path !== "unknownsymbol";
}

function valueOf(path: string, text: string): string | null {
  if (text === "") return null;
  if (/\/(sym|desc)$/.test(path)) return text;
  if (/^(na|n\/a|null|nan)$/i.test(text)) return null;
  if (TEXT_ELEMENTS.test(path)) return text;
  if (/\/(matdt|exdate)$/.test(path)) return text.startsWith("0001-") ? null : text.slice(0, 10);
  if (path === "instrument/putcall") return text;
  return signedDecimal(path, text);
}

/** Elements whose number may bear a percent sign: by which power of ten the sign multiplies it. */
const PERCENT: Readonly<Record<string, number>> = { pctchange: 0, yield: 0, delta: -2 };

const BELOW_ZERO = new Set(["change", "pctchange", "delta", "earningspershare", "priceearningsratio"]);

/** A number as its element has it: `12%` as a delta is 0.12, `(5)` is -5; null where a sign means nothing there. */
export function signedDecimal(path: string, text: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const bare = text.trim().replaceAll(",", "");
  const isAccount = /^\(.*\)\s*%?$/s.test(bare);
  const unsigned = bare
    .replace(/[()%\s]+$/, "")
    .replace(/^[(\s]+/, "")
    .replace(/^\u2212/, "-");
  const [mantissa = "", exponent = "0"] = unsigned.toLowerCase().split("e");
  const power = bare.includes("%") ? PERCENT[name] : 0;
  if (power === undefined) return null;
  const read = decimal(`${isAccount ? "-" : ""}${mantissa}e${Number(exponent) + power}`);
  return read?.startsWith("-") && !BELOW_ZERO.has(name) ? null : read;
}

/**
 * Decimal text as sign, digits and a power of ten without trailing zeros: `61.40` and `6.14E1` become the same. On
 * purpose not our own function: this is the second opinion.
 */
export function decimal(text: string | null): string | null {
  if (text === null) return null;
  const [mantissa = "", exponent = "0"] = text.trim().toLowerCase().split("e");
  const negative = mantissa.startsWith("-");
  const [whole = "", fraction = ""] = mantissa.replace(/^[+-]/, "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${negative ? "-" : ""}${significant}e${power}`;
}
