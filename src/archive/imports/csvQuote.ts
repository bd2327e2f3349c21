/** The values of a row of CSV. Pure. */
import { canonicalDecimal, readDecimal, readInteger } from "../../quotes-api/decimal.ts";
import type { Quote } from "../../quotes-api/document.ts";
import { NO_QUOTE } from "../../quotes-api/readInstrument.ts";
import { type CsvCall, type CsvField, DECIMAL_FIELDS, INTEGER_FIELDS } from "./csvCall.ts";
import { type Cell, shown } from "./cell.ts";
import { type TextOf } from "./rowReader.ts";

/** Fields of `quotes` itself; the others are of `extended_quotes`. */
const PRICES = new Set<CsvField>(["bid", "ask", "last", "change", "pctChange"]);

/** What may be below zero; any other field is a slip then, or stands for "no value", which the map can say. */
const SIGNED = new Set<CsvField>(["change", "pctChange", "earningsPerShare", "peRatio", "delta"]);

/**
 * Assumed: no price, count or ratio of an import has more digits than this before its point; one that has is of
 * another column, or damage.
 */
export const MAX_WHOLE_DIGITS = 15;

/** Reads the fields that the map gives a column or a constant. */
export function createQuoteReader({
  columns,
  constants,
  decimal,
}: Pick<CsvCall, "columns" | "constants" | "decimal">): (text: TextOf) => Cell<Quote> {
  const isGiven = (field: CsvField): boolean =>
    columns[field] !== undefined || constants[field] !== undefined;
  const fields = [
    ...DECIMAL_FIELDS.filter(isGiven).map((field) => ({ field, read: readDecimal })),
    ...INTEGER_FIELDS.filter(isGiven).map((field) => ({ field, read: readInteger })),
  ];
  return (text) => {
    const prices: Record<string, string | null> = {};
    const extended: Record<string, string | null> = {};
    let values = 0;
    for (const { field, read } of fields) {
      const given = text(field);
      if (given === null) continue;
      const number = decimal === "," ? withPoint(given) : given;
      const value = number === null ? NO_COMMA : read(number);
      const problem = value.ok ? problemOf(field, value.value) : value.problem;
      if (!value.ok || problem !== null)
        return { ok: false, problem: `${columns[field] ?? field} is ${shown(given)}: ${problem}` };
      (PRICES.has(field) ? prices : extended)[field] = value.value;
      if (value.value !== null && field !== "contractSize") values++;
    }
    if (values === 0) return { ok: false, problem: "it has no value" };
    const quote = { ...NO_QUOTE, ...prices, extended: { ...NO_QUOTE.extended, ...extended } };
    return { ok: true, value: quote as Quote };
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
