/**
 * Writes the service's XML: element names, nesting, order and presence as in the specification, section
 * "Resources and their fields". Together with `readInstrument.ts` this is the only place that knows them.
 */
import { XMLBuilder } from "fast-xml-parser";
import type { ExtendedQuote, InstrumentQuote, Quote, QuoteDocument } from "./document.ts";
import { easternMidnight } from "./easternTime.ts";

/** Element names to text, or to elements; `""` becomes an empty element. */
type Element = { [name: string]: string | Element | Element[] };

/** A quotes document. Absent values (null) of elements that are always present become empty elements. */
export function writeDocument({ id, instruments }: QuoteDocument): string {
  const quotes = instruments.length === 0 ? "" : { instrumentquote: instruments.map(instrumentQuote) };
  return document({ response: { "@id": id ?? "", quotes } });
}

/**
 * A document that says why there are no quotes.
 *
 * Assumed: its form is that of the recorded answer to a call that was not authorized: `response/error`.
 */
export function writeErrorDocument(id: string, error: string): string {
  return document({ response: { "@id": id, elapsedtime: "0", error } });
}

/** A document that is one `string` element, the form of the recorded rate-limit fault (field notes). */
export function writeStringDocument(text: string): string {
  return document({ string: text });
}

const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  format: true,
  suppressEmptyNode: true,
  suppressBooleanAttributes: false,
  tagValueProcessor: (_name, value) => legal(String(value)),
  attributeValueProcessor: (_name, value) => legal(String(value)),
});

function document(root: Element): string {
  return builder.build({ "?xml": { "@version": "1.0", "@encoding": "UTF-8" }, ...root });
}

/** Characters that XML 1.0 has no way to write, and the carriage return, which a reader would turn into a line feed. */
const ILLEGAL = /[^\t\n\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

function legal(text: string): string {
  return text.replace(ILLEGAL, "");
}

function instrumentQuote(item: InstrumentQuote): Element {
  const isOption = item.instrument.optionType !== null;
  return {
    greeks: isOption && !item.unknownSymbol ? { delta: text(item.greeksDelta) } : "",
    instrument: instrument(item),
    quote: quote(item.quote, isOption ? optionFields : equityFields),
    ...(item.underlying && {
      underlying: {
        desc: text(item.underlying.description),
        exch: text(item.underlying.exchange),
        sym: item.underlying.symbol,
      },
    }),
    ...(item.underlyingQuote && { undlyquote: quote(item.underlyingQuote, equityFields) }),
    unknownsymbol: String(item.unknownSymbol),
  };
}

function instrument({ instrument: named }: InstrumentQuote): Element {
  const { description, exchange, securityType, symbol, expiration, optionType, strike } = named;
  if (optionType === null) {
    return { desc: text(description), exch: text(exchange), sectyp: text(securityType), sym: symbol };
  }
  return {
    desc: text(description),
    exch: text(exchange),
    matdt: expiration === null ? "" : easternMidnight(expiration),
    // 1 is a call in the specification, 0 a put in a sibling call's answer (field notes).
    putcall: optionType === "CALL" ? "1" : "0",
    sectyp: text(securityType),
    strkpx: text(strike),
    sym: symbol,
  };
}

function quote(of: Quote, extendedFields: (extended: ExtendedQuote) => Element): Element {
  return {
    askprice: text(of.ask),
    bidprice: text(of.bid),
    change: text(of.change),
    extendedquote: extendedFields(of.extended),
    lastprice: text(of.last),
    pctchange: text(of.pctChange),
  };
}

function equityFields(extended: ExtendedQuote): Element {
  const { dividend } = extended;
  return {
    asksize: text(extended.askSize),
    bidsize: text(extended.bidSize),
    dividenddata: dividend
      ? {
          amt: text(dividend.amount),
          exdate: dividend.exDate === null ? "" : easternMidnight(dividend.exDate),
          yield: text(dividend.yield),
        }
      : "",
    earningspershare: text(extended.earningsPerShare),
    high52price: text(extended.high52Week),
    highprice: text(extended.high),
    low52price: text(extended.low52Week),
    lowprice: text(extended.low),
    openprice: text(extended.open),
    prevclose: text(extended.previousClose),
    priceearningsratio: text(extended.peRatio),
    sessionvolume: text(extended.sessionVolume),
    volume: text(extended.volume),
  };
}

function optionFields(extended: ExtendedQuote): Element {
  return {
    asksize: text(extended.askSize),
    bidsize: text(extended.bidSize),
    contracthigh: text(extended.contractHigh),
    contractlow: text(extended.contractLow),
    contractsize: text(extended.contractSize),
    delta: text(extended.delta),
    highprice: text(extended.high),
    lowprice: text(extended.low),
    openprice: text(extended.open),
    prevclose: text(extended.previousClose),
    volume: text(extended.volume),
  };
}

function text(value: string | null): string {
  return value ?? "";
}
