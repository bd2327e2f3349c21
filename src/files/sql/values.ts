/** DuckDB's values as JSON and as text: decimals digit by digit, times in UTC with microseconds. */
import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { instantOf } from "../../ground/clock.ts";
import { decimalText } from "../tables/parquetDecimal.ts";

export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };

export type SqlColumn = {
  name: string;
  /** DuckDB's word for it. */
  type: string;
  isNumber: boolean;
  isText: boolean;
};

const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|FLOAT|DOUBLE|DECIMAL.*)$/u;
const TIME = /^TIMESTAMP/u;

/** @param name as DuckDB has it, each once */
export function columnOf(name: string, type: DuckDBType): SqlColumn {
  const word = type.alias ?? type.toString();
  const isNumber = NUMBER.test(word);
  return {
    name,
    type: word,
    isNumber,
    isText: !isNumber && !TIME.test(word),
  };
}

/** How a column's values become JSON. */
export function jsonOfType(type: DuckDBType): (value: DuckDBValue) => JsonValue {
  return type.alias === "JSON" ? parsed : jsonOf;
}

/** A value as text; what holds others is JSON. */
export function textOf(value: JsonValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function parsed(value: DuckDBValue): JsonValue {
  try {
    return value === null ? null : (JSON.parse(String(value)) as JsonValue);
  } catch {
    return String(value);
  }
}

function jsonOf(value: DuckDBValue): JsonValue {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  // By what they have: the classes are the package's, which is loaded only where a statement is asked.
  if ("scale" in value && "width" in value) return decimalText(value.value, value.scale);
  if ("micros" in value && !("months" in value) && !("offset" in value)) return timeOf(value);
  if ("items" in value) return value.items.map(jsonOf);
  if ("entries" in value)
    return Array.isArray(value.entries)
      ? value.entries.map(({ key, value: of }) => ({ key: jsonOf(key), value: jsonOf(of) }))
      : Object.fromEntries(Object.entries(value.entries).map(([name, of]) => [name, jsonOf(of)]));
  return String(value);
}

/** A time of day, a time without a zone, or an instant. */
function timeOf(value: { micros: bigint }): string {
  const text = String(value);
  // A time of day, and what no year of four digits has, such as infinity.
  if (!/^\d{4}-\d\d-\d\d /u.test(text)) return text;
  const instant = instantOf(value.micros);
  // The package writes an instant in the machine's zone, with its offset behind it.
  return /[+-]\d\d(:\d\d)*$/u.test(text) ? instant : instant.slice(0, -1);
}
