/** The values of a row of CSV. Pure. */
import { canonicalDecimal, readDecimal, readInteger } from "../quotes-api/decimal.ts";
import type { Quote } from "../quotes-api/document.ts";
import { NUMBER_FIELDS, PRICE_FIELDS } from "../quotes-api/fields.ts";
import { NO_QUOTE } from "../quotes-api/readInstrument.ts";
import { CUT_FIELDS, type CsvCall, type CsvField, DECIMAL_FIELDS, INTEGER_FIELDS } from "./csvCall.ts";
import { type Cell, scaledBy, shown } from "./cell.ts";
import { type TextOf } from "./rowReader.ts";

/** Fields of `quotes` itself; the others are of `extended_quotes`. */
const PRICES = new Set<CsvField>(PRICE_FIELDS.map(({ name }) => name));

/** What may be below zero; any other field is a slip then, or stands for "no value", which the map can say. */
const SIGNED = new Set<CsvField>(NUMBER_FIELDS.filter(({ signed }) => signed).map(({ name }) => name));

/**
 * Assumed: no price, count or ratio of an import has more digits than this before its point; one that has is of
 * another column, or damage.
 */
const MAX_WHOLE_DIGITS = 15;

/** What the reading of a row's values needs of its map. */
type QuoteCall = Pick<CsvCall, "columns" | "constants" | "decimal" | "scale" | "wholePart">;

/** A number as it is stored: null where there is none; `cut`: a fraction was left out. */
type NumberRead = { ok: true; value: string | null; cut?: boolean } | { ok: false; problem: string };

/** Reads the fields that the map gives a column or a constant. Its `cut` counts the counts that had a fraction. */
export function createQuoteReader(call: QuoteCall): (text: TextOf) => Cell<Quote> {
  const { columns, constants } = call;
  const isGiven = (field: CsvField): boolean =>
    columns[field] !== undefined || constants[field] !== undefined;
  const fields = [...DECIMAL_FIELDS, ...INTEGER_FIELDS]
    .filter(isGiven)
    .map((field) => ({ field, read: numberReader(call, field) }));
  return (text) => {
    const prices: Record<string, string | null> = {};
    const extended: Record<string, string | null> = {};
    let [values, cut] = [0, 0];
    for (const { field, read } of fields) {
      const given = text(field);
      if (given === null) continue;
      const value = read(given);
      const problem = value.ok ? problemOf(field, value.value) : value.problem;
      if (!value.ok || problem !== null)
        return { ok: false, problem: `${columns[field] ?? field} is ${shown(given)}: ${problem}` };
      (PRICES.has(field) ? prices : extended)[field] = value.value;
      if (value.value !== null && field !== "contractSize") values++;
      if (value.cut === true) cut++;
    }
    if (values === 0) return { ok: false, problem: "it has no value" };
    const quote = { ...NO_QUOTE, ...prices, extended: { ...NO_QUOTE.extended, ...extended } };
    return { ok: true, value: quote as Quote, cut };
  };
}

/** Reads the numbers of a field: with the map's decimal sign, times its factor, whole where a count has to be. */
function numberReader(
  { decimal, scale = {}, wholePart = [] }: QuoteCall,
  field: (typeof DECIMAL_FIELDS)[number] | (typeof INTEGER_FIELDS)[number],
): (given: string) => NumberRead {
  const factor = scale[field];
  const isCount = INTEGER_FIELDS.some((count) => count === field);
  const isCut = CUT_FIELDS.some((count) => count === field && wholePart.includes(count));
  const finish = isCount ? readInteger : readDecimal;
  return (given) => {
    const text = decimal === "," ? withPoint(given) : given;
    if (text === null) return NO_COMMA;
    if (factor === undefined && !isCut) return finish(text);
    const read = readDecimal(text);
    if (!read.ok || read.value === null) return read;
    const scaled = factor === undefined ? read.value : scaledBy(read.value, factor);
    const [whole = "", fraction] = canonicalDecimal(scaled).split(".");
    return isCut ? { ...finish(whole), ...(fraction !== undefined && { cut: true }) } : finish(scaled);
  };
}

const NO_COMMA = { ok: false as const, problem: "expected a number with a decimal comma" };

function problemOf(field: CsvField, value: string | null): string | null {
  if (value === null) return null;
  if (value.startsWith("-") && !SIGNED.has(field) && /[1-9]/u.test(value))
    return "it is below zero; list it under `absent` of the map if it stands for no value";
  // As it is written, nearly every number is short: those need no closer look.
  if (value.length <= MAX_WHOLE_DIGITS && !/e/iu.test(value)) return null;
  const [whole = ""] = canonicalDecimal(value).replace("-", "").split(".");
  return whole.length > MAX_WHOLE_DIGITS
    ? `it has more than ${MAX_WHOLE_DIGITS} digits before the point`
    : null;
}

/** Whether two quotes say the same, however they write it: `1.0` is `1`. */
export function saysTheSame(a: Quote, b: Quote): boolean {
  return JSON.stringify(a, canonical) === JSON.stringify(b, canonical);
}

function canonical(_name: string, value: unknown): unknown {
  return typeof value === "string" ? canonicalDecimal(value) : value;
}

/** `1.234,56` as `1234.56`; null where a point is no separator of thousands. */
function withPoint(text: string): string | null {
  const plain = /^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?%?$/u.test(text) ? text.replaceAll(".", "") : text;
  return plain.includes(".") ? null : plain.replace(",", ".");
}
