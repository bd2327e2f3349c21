/**
 * The fields of a quote, each said once: its name in our words and in JSON, its element where the specification's service has one
 * ("Resources and their fields"), its type, and its column in the archive and in exports. Types, readers and the writer, the tables
 * and what goes into them, maps of CSV files and the pieces of an export are made from these lists.
 */
import { type NumberKind, type Unit, UNITS } from "./units.ts";

export type Field<
  Name extends string = string,
  Type extends string = "decimal" | "integer" | "instant" | "date",
  Column extends string = string,
> = {
  readonly name: Name;
  /** Absent: the specification's service does not say it. */
  readonly element?: string;
  /** Prices and ratios are decimals, counts are integers; an instant is ISO 8601 in UTC, with microseconds. */
  readonly type: Type;
  readonly column: Column;
  /** Of a number; says how a sign at it is read (units.ts). */
  readonly unit: Unit | "instant" | "date";
  readonly signed?: true;
  /**
   * Answers of this kind always have the element; those of the other kind have it where there is a value. Absent: both
   * kinds.
   */
  readonly of?: "equity" | "option";
};

type TypeOf<U extends Field["unit"]> = U extends Unit ? (typeof UNITS)[U]["type"] : U;

function field<const Name extends string, const U extends Field["unit"], const Column extends string>(
  name: Name,
  element: string | null,
  rest: Omit<Field<Name, string, Column>, "name" | "element" | "type" | "unit"> & { unit: U },
): Field<Name, TypeOf<U>, Column> {
  const type = (rest.unit in UNITS ? UNITS[rest.unit as Unit].type : rest.unit) as TypeOf<U>;
  return { name, type, ...(element !== null && { element }), ...rest };
}

/** Elements of `quote` and `undlyquote`; columns of `quotes`. */
export const PRICE_FIELDS = [
  field("bid", "bidprice", { unit: "dollars", column: "bid" }),
  field("ask", "askprice", { unit: "dollars", column: "ask" }),
  field("last", "lastprice", { unit: "dollars", column: "last" }),
  field("change", "change", { unit: "dollars", column: "change", signed: true }),
  field("pctChange", "pctchange", { unit: "percent", column: "pct_change", signed: true }),
  field("quotedAt", null, { unit: "instant", column: "quoted_at" }),
  field("tradedAt", null, { unit: "instant", column: "traded_at" }),
] as const;

/** Elements of `extendedquote`; columns of `extended_quotes`. */
export const EXTENDED_FIELDS = [
  field("bidSize", "bidsize", { unit: "count", column: "bid_size" }),
  field("askSize", "asksize", { unit: "count", column: "ask_size" }),
  field("open", "openprice", { unit: "dollars", column: "open" }),
  field("high", "highprice", { unit: "dollars", column: "high" }),
  field("low", "lowprice", { unit: "dollars", column: "low" }),
  field("previousClose", "prevclose", { unit: "dollars", column: "previous_close" }),
  field("volume", "volume", { unit: "count", column: "volume" }),
  field("sessionVolume", "sessionvolume", { unit: "count", column: "session_volume", of: "equity" }),
  field("earningsPerShare", "earningspershare", {
    unit: "dollars",
    column: "earnings_per_share",
    of: "equity",
    signed: true,
  }),
  field("peRatio", "priceearningsratio", { unit: "ratio", column: "pe_ratio", of: "equity", signed: true }),
  field("high52Week", "high52price", { unit: "dollars", column: "high_52_week", of: "equity" }),
  field("low52Week", "low52price", { unit: "dollars", column: "low_52_week", of: "equity" }),
  field("contractHigh", "contracthigh", { unit: "dollars", column: "contract_high", of: "option" }),
  field("contractLow", "contractlow", { unit: "dollars", column: "contract_low", of: "option" }),
  field("contractSize", "contractsize", { unit: "count", column: "contract_size", of: "option" }),
  field("delta", "delta", { unit: "fraction", column: "delta", of: "option", signed: true }),
  field("openInterest", null, { unit: "count", column: "open_interest", of: "option" }),
  field("averageVolume", null, { unit: "count", column: "average_volume" }),
  field("impliedVolatility", null, { unit: "fraction", column: "implied_volatility", of: "option" }),
  field("bidIv", null, { unit: "fraction", column: "bid_iv", of: "option" }),
  field("askIv", null, { unit: "fraction", column: "ask_iv", of: "option" }),
  field("gamma", null, { unit: "ratio", column: "gamma", of: "option", signed: true }),
  field("theta", null, { unit: "dollars", column: "theta", of: "option", signed: true }),
  field("vega", null, { unit: "dollars", column: "vega", of: "option", signed: true }),
  field("rho", null, { unit: "dollars", column: "rho", of: "option", signed: true }),
  field("greeksAt", null, { unit: "instant", column: "greeks_at", of: "option" }),
  field("openInterestDate", null, { unit: "date", column: "open_interest_date", of: "option" }),
] as const;

/** Elements of `dividenddata`; columns of `dividends`. The date is midnight US Eastern there, `YYYY-MM-DD` here. */
export const DIVIDEND_FIELDS = [
  field("exDate", "exdate", { unit: "date", column: "ex_date" }),
  field("amount", "amt", { unit: "dollars", column: "amount" }),
  field("yield", "yield", { unit: "own", column: "yield" }),
] as const;

export const NUMBER_FIELDS = [...PRICE_FIELDS, ...EXTENDED_FIELDS] as const;

type Price = (typeof PRICE_FIELDS)[number];
type ExtendedColumn = (typeof EXTENDED_FIELDS)[number];

export type PriceField = Price["name"];

export type ExtendedField = ExtendedColumn["name"];

export type DividendField = (typeof DIVIDEND_FIELDS)[number]["name"];

type NamesOf<Type extends Field["type"]> = Extract<Price | ExtendedColumn, { type: Type }>["name"];

export type DecimalField = NamesOf<"decimal"> | "amount" | "yield";

/** What each number may be, by the name of its field. */
export const NUMBER_KINDS = Object.fromEntries(
  [...NUMBER_FIELDS, ...DIVIDEND_FIELDS].map((one) => [one.name, one]),
) as unknown as Readonly<Record<DecimalField | NamesOf<"integer">, NumberKind>>;

/** Those that an answer of the specification's service may have. */
export function withElement<F extends { readonly element?: string }>(
  fields: readonly F[],
): (F & { readonly element: string })[] {
  return fields.filter((one): one is F & { readonly element: string } => one.element !== undefined);
}

export function fieldNames<Type extends Field["type"]>(type: Type): readonly NamesOf<Type>[] {
  return NUMBER_FIELDS.filter((one) => one.type === type).map(({ name }) => name as NamesOf<Type>);
}

export function valuesByName<F extends { readonly name: string }, V>(
  fields: readonly F[],
  valueOf: (field: F) => V,
): Record<F["name"], V> {
  return Object.fromEntries(fields.map((one) => [one.name, valueOf(one)])) as Record<F["name"], V>;
}
