/**
 * Writes the service's XML: element names, nesting, order and presence as in the specification, section
 * "Resources and their fields". Together with `fields.ts` and `leaves.ts` this is the only place that
 * knows them.
 */
import { remembered, rememberedOf } from "../../ground/remembered.ts";
import { XMLBuilder } from "fast-xml-parser";
import type {
  DividendData,
  ExtendedQuote,
  InstrumentQuote,
  Quote,
  QuoteDocument,
} from "../../quotes/document.ts";
import { EXTENDED_FIELDS, PRICE_FIELDS, withElement } from "../../quotes/fields.ts";
import { Temporal } from "temporal-polyfill";

/** Element names to text, or to elements; `""` becomes an empty element. */
type Element = { [name: string]: string | Element | Element[] };

/**
 * A quotes document. Absent values (null) of elements that are always present become empty elements.
 *
 * The text of each instrument is remembered for as long as its quote lives, so a source that returns the same object
 * for the same quote has it written once. A quote must not change after this call.
 */
export function writeDocument({ id, instruments }: QuoteDocument): string {
  const empty = document({ response: { "@id": id ?? "", quotes: "" } });
  if (instruments.length === 0) return empty;
  let text = `${empty.slice(0, -EMPTY_END.length)}<quotes>`;
  for (const item of instruments) text += fragmentOf(item);
  return text + FRAME_END;
}

/** One `instrumentquote` as it stands in a document, indented, behind a line break. */
const fragmentOf = rememberedOf((item: InstrumentQuote): string => {
  const whole = document({ response: { quotes: { instrumentquote: [instrumentQuote(item)] } } });
  return whole.slice(FRAME_START.length, whole.length - FRAME_END.length);
});

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

// The builder's own text around the instruments, so that a document put together of parts is the one it would write.
const EMPTY_END = "<quotes/>\n</response>\n";
const FRAME_START = '<?xml version="1.0" encoding="UTF-8"?>\n<response>\n  <quotes>';
const FRAME_END = "\n  </quotes>\n</response>\n";

/** Characters that XML 1.0 cannot write, and the carriage return, which a reader would turn into a line feed. */
const ILLEGAL = /[^\t\n\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

function legal(text: string): string {
  return text.replace(ILLEGAL, "");
}

function instrumentQuote(item: InstrumentQuote): Element {
  const isOption = item.instrument.optionType !== null;
  return {
    greeks: isOption && !item.unknownSymbol ? { delta: text(item.greeksDelta) } : "",
    instrument: instrument(item),
    quote: quote(item.quote, isOption ? "option" : "equity"),
    ...(item.underlying && {
      underlying: {
        desc: text(item.underlying.description),
        exch: text(item.underlying.exchange),
        sym: item.underlying.symbol,
      },
    }),
    ...(item.underlyingQuote && { undlyquote: quote(item.underlyingQuote, "equity") }),
    unknownsymbol: String(item.unknownSymbol),
  };
}

function instrument({ instrument: named }: InstrumentQuote): Element {
  const { description, exchange, securityType, symbol, root, expiration, optionType, strike } = named;
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
    sym: root ?? symbol,
  };
}

/** In the order of their names, as in an answer. */
const PRICES = inNameOrder([
  ...withElement(PRICE_FIELDS),
  { name: "extended", element: "extendedquote" } as const,
]);
const EXTENDED = inNameOrder([
  ...withElement(EXTENDED_FIELDS),
  { name: "dividend", element: "dividenddata" } as const,
]);

function inNameOrder<F extends { readonly element: string }>(fields: readonly F[]): F[] {
  return fields.toSorted((a, b) => (a.element < b.element ? -1 : 1));
}

function quote(of: Quote, kind: "equity" | "option"): Element {
  const element: Element = {};
  for (const { name, element: elementName } of PRICES)
    element[elementName] = name === "extended" ? extendedQuote(of.extended, kind) : text(of[name]);
  return element;
}

/**
 * Elements that the specification gives to the other kind of instrument alone are written where the archive holds a
 * received value, and never as empty elements.
 */
function extendedQuote(extended: ExtendedQuote, kind: "equity" | "option"): Element {
  const element: Element = {};
  for (const field of EXTENDED) {
    if (field.name === "dividend") {
      if (extended.dividend) element[field.element] = dividendFields(extended.dividend);
      else if (kind === "equity") element[field.element] = "";
      continue;
    }
    const value = extended[field.name];
    if (value !== null || (field.of ?? kind) === kind) element[field.element] = text(value);
  }
  return element;
}

function dividendFields({ amount, exDate, yield: paid }: DividendData): Element {
  return {
    amt: text(amount),
    exdate: exDate === null ? "" : easternMidnight(exDate),
    yield: text(paid),
  };
}

function text(value: string | null): string {
  return value ?? "";
}

const SERVICE_ZONE = "America/New_York";

/**
 * A calendar date as the service writes it: `2026-12-18` becomes `2026-12-18T00:00:00-05:00`. Expirations and ex-dates
 * come again and again, and a question to a zone is slow.
 *
 * @throws {RangeError} when the text is no date that exists
 */
const easternMidnight: (date: string) => string = remembered(5_000, midnightOf);

function midnightOf(date: string): string {
  return Temporal.PlainDate.from(date).toZonedDateTime(SERVICE_ZONE).toString({ timeZoneName: "never" });
}
