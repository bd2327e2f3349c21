/**
 * The fields of a quote, each said once: its name in our words and in JSON, its element where the specification's service has one
 * ("Resources and their fields"), its type, and its column in the archive and in exports. Types, readers and the writer, the tables
 * and what goes into them, maps of CSV files and the pieces of an export are made from these lists.
 */

export type Field<
  Name extends string = string,
  Type extends string = "decimal" | "integer" | "instant",
  Column extends string = string,
> = {
  readonly name: Name;
  /** Absent: the specification's service does not say it. */
  readonly element?: string;
  /** Prices and ratios are decimals, counts are integers; an instant is ISO 8601 in UTC, with microseconds. */
  readonly type: Type;
  readonly column: Column;
  readonly signed?: true;
  /**
   * Answers of this kind always have the element; those of the other kind have it where there is a value. Absent: both
   * kinds.
   */
  readonly of?: "equity" | "option";
};

function field<const Name extends string, const Type extends string, const Column extends string>(
  name: Name,
  element: string | null,
  rest: Omit<Field<Name, Type, Column>, "name" | "element">,
): Field<Name, Type, Column> {
  return { name, ...(element !== null && { element }), ...rest };
}

/** Elements of `quote` and `undlyquote`; columns of `quotes`. */
export const PRICE_FIELDS = [
  field("bid", "bidprice", { type: "decimal", column: "bid" }),
  field("ask", "askprice", { type: "decimal", column: "ask" }),
  field("last", "lastprice", { type: "decimal", column: "last" }),
  field("change", "change", { type: "decimal", column: "change", signed: true }),
  field("pctChange", "pctchange", { type: "decimal", column: "pct_change", signed: true }),
  field("quotedAt", null, { type: "instant", column: "quoted_at" }),
  field("tradedAt", null, { type: "instant", column: "traded_at" }),
] as const;

/** Elements of `extendedquote`; columns of `extended_quotes`. */
export const EXTENDED_FIELDS = [
  field("bidSize", "bidsize", { type: "integer", column: "bid_size" }),
  field("askSize", "asksize", { type: "integer", column: "ask_size" }),
  field("open", "openprice", { type: "decimal", column: "open" }),
  field("high", "highprice", { type: "decimal", column: "high" }),
  field("low", "lowprice", { type: "decimal", column: "low" }),
  field("previousClose", "prevclose", { type: "decimal", column: "previous_close" }),
  field("volume", "volume", { type: "integer", column: "volume" }),
  field("sessionVolume", "sessionvolume", { type: "integer", column: "session_volume", of: "equity" }),
  field("earningsPerShare", "earningspershare", {
    type: "decimal",
    column: "earnings_per_share",
    of: "equity",
    signed: true,
  }),
  field("peRatio", "priceearningsratio", { type: "decimal", column: "pe_ratio", of: "equity", signed: true }),
  field("high52Week", "high52price", { type: "decimal", column: "high_52_week", of: "equity" }),
  field("low52Week", "low52price", { type: "decimal", column: "low_52_week", of: "equity" }),
  field("contractHigh", "contracthigh", { type: "decimal", column: "contract_high", of: "option" }),
  field("contractLow", "contractlow", { type: "decimal", column: "contract_low", of: "option" }),
  field("contractSize", "contractsize", { type: "integer", column: "contract_size", of: "option" }),
  field("delta", "delta", { type: "decimal", column: "delta", of: "option", signed: true }),
  field("openInterest", null, { type: "integer", column: "open_interest", of: "option" }),
  field("averageVolume", null, { type: "integer", column: "average_volume" }),
  field("impliedVolatility", null, { type: "decimal", column: "implied_volatility", of: "option" }),
  field("bidIv", null, { type: "decimal", column: "bid_iv", of: "option" }),
  field("askIv", null, { type: "decimal", column: "ask_iv", of: "option" }),
  field("gamma", null, { type: "decimal", column: "gamma", of: "option", signed: true }),
  field("theta", null, { type: "decimal", column: "theta", of: "option", signed: true }),
  field("vega", null, { type: "decimal", column: "vega", of: "option", signed: true }),
  field("rho", null, { type: "decimal", column: "rho", of: "option", signed: true }),
  field("greeksAt", null, { type: "instant", column: "greeks_at", of: "option" }),
] as const;

/** Elements of `dividenddata`; columns of `dividends`. The date is midnight US Eastern there, `YYYY-MM-DD` here. */
export const DIVIDEND_FIELDS = [
  field("exDate", "exdate", { type: "date", column: "ex_date" }),
  field("amount", "amt", { type: "decimal", column: "amount" }),
  field("yield", "yield", { type: "decimal", column: "yield" }),
] as const;

export const NUMBER_FIELDS = [...PRICE_FIELDS, ...EXTENDED_FIELDS] as const;

type Price = (typeof PRICE_FIELDS)[number];
type Extended = (typeof EXTENDED_FIELDS)[number];

export type PriceField = Price["name"];

export type ExtendedField = Extended["name"];

export type DividendField = (typeof DIVIDEND_FIELDS)[number]["name"];

type NamesOf<Type extends Field["type"]> = Extract<Price | Extended, { type: Type }>["name"];

/** Those that an answer of the specification's service may have. */
export function withElement<F extends { readonly element?: string }>(
  fields: readonly F[],
): (F & { readonly element: string })[] {
  return fields.filter((one): one is F & { readonly element: string } => one.element !== undefined);
}

export function fieldNames<Type extends Field["type"]>(type: Type): readonly NamesOf<Type>[] {
  return NUMBER_FIELDS.filter((one) => one.type === type).map(({ name }) => name as NamesOf<Type>);
}

/**
 * A function that is written out from the names of fields. Each quote of a backfill passes through it, and an object
 * made name by name in a loop costs several times as much as a literal.
 *
 * @param expression what the function returns; made of the names in this file and of numbers alone
 */
export function writtenOut<Fn extends (...args: never[]) => unknown>(
  parameters: readonly string[],
  expression: string,
): Fn {
  return new Function(...parameters, `return ${expression};`) as Fn;
}

/**
 * A function that makes a quote of `document.ts`.
 *
 * @param valueOf the expression of a field's value
 * @param dividend the expression of the dividend, which comes last
 */
export function quoteWrittenOut<Fn extends (...args: never[]) => unknown>(
  parameters: readonly string[],
  valueOf: (field: Price | Extended) => string,
  dividend: string,
): Fn {
  const values = (fields: readonly (Price | Extended)[]): string =>
    fields.map((one) => `${one.name}: ${valueOf(one)}`).join(", ");
  const extended = `{ ${values(EXTENDED_FIELDS)}, dividend: ${dividend} }`;
  return writtenOut(parameters, `({ ${values(PRICE_FIELDS)}, extended: ${extended} })`);
}

export function valuesByName<F extends { readonly name: string }, V>(
  fields: readonly F[],
  valueOf: (field: F) => V,
): Record<F["name"], V> {
  return Object.fromEntries(fields.map((one) => [one.name, valueOf(one)])) as Record<F["name"], V>;
}
