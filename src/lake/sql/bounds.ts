/**
 * What a statement can need of each table, found in DuckDB's plan of it: the conditions that the plan puts to the rows as they
 * are read. What is not understood bounds nothing: too many rows are read then, never too few. Pure.
 */
import { exchangeDate } from "../../market/calendar/dates.ts";

/** A node of `explain (format json)`. */
export type PlanNode = { extra_info?: Record<string, unknown>; children?: readonly PlanNode[] };

/** What all that a statement reads of a table lies within; null: no bound. Both ends are included. */
export type Bounds = {
  /** Exchange dates. */
  dates: { from: string | null; to: string | null };
  /** Instants of the table's own time, in ms since 1970. */
  times: { from: number | null; to: number | null };
  instruments: readonly number[] | null;
  symbols: readonly string[] | null;
};

type Operator = "=" | "<" | "<=" | ">" | ">=";
type Condition = { column: string; operator: Operator; value: string };

const TEXT = "'(?:[^']|'')*'";
const VALUE = `-?\\d+|${TEXT}(?:::(?:DATE|TIMESTAMP WITH TIME ZONE))?`;
const CONDITION = `(\\w+)(=|<=|>=|<|>)(${VALUE})|\\(?\\w+ IS NOT NULL\\)?`;

/** One condition, and an `AND` or the end behind it. */
const NEXT = new RegExp(`(?:${CONDITION})(?: AND |$)`, "uy");

/**
 * @param plan what `explain (format json)` gives
 * @param timeOf the column of a table that is its time; null: it has none
 * @returns by name, each table of the schema `parts` that the plan reads
 */
export function boundsOf(
  plan: readonly PlanNode[],
  timeOf: (table: string) => string | null,
): Map<string, Bounds> {
  const found = new Map<string, Bounds>();
  const visit = ({ extra_info: info = {}, children = [] }: PlanNode): void => {
    const [, table] = /\bparts\.(\w+)$/u.exec(String(info["Table"] ?? "")) ?? [];
    if (table !== undefined) {
      const bounds = scanBounds([info["Filters"] ?? []].flat().map(String), timeOf(table));
      const before = found.get(table);
      found.set(table, before ? either(before, bounds) : bounds);
    }
    children.forEach(visit);
  };
  plan.forEach(visit);
  return found;
}

/** @returns nothing where any part of it is not understood, such as an `OR` */
function conditionsOf(filter: string): Condition[] {
  const conditions: Condition[] = [];
  NEXT.lastIndex = 0;
  while (NEXT.lastIndex < filter.length) {
    const match = NEXT.exec(filter);
    if (!match) return [];
    const [, column, operator, value] = match;
    if (column !== undefined && operator !== undefined && value !== undefined)
      conditions.push({ column, operator: operator as Operator, value: plainOf(value) });
  }
  return conditions;
}

function plainOf(value: string): string {
  const [text] = new RegExp(`^${TEXT}`, "u").exec(value) ?? [];
  return text === undefined ? value : text.slice(1, -1).replaceAll("''", "'");
}

function scanBounds(filters: readonly string[], time: string | null): Bounds {
  const conditions = filters.flatMap(conditionsOf);
  const of = (column: string | null): Condition[] => conditions.filter((one) => one.column === column);
  const times = rangeOf(of(time), (value) => msOf(value));
  const dates = rangeOf(of("date"), (value) => (/^\d{4}-\d\d-\d\d$/u.test(value) ? value : null));
  const equal = (column: string): string[] | null => {
    const values = of(column).flatMap(({ operator, value }) => (operator === "=" ? [value] : []));
    return values.length === 0 ? null : values;
  };
  return {
    times,
    dates: {
      from: later(dates.from, times.from === null ? null : exchangeDate(new Date(times.from))),
      to: earlier(dates.to, times.to === null ? null : exchangeDate(new Date(times.to))),
    },
    instruments: equal("instrument_id")?.map(Number) ?? null,
    symbols: equal("symbol"),
  };
}

/** As `2026-11-18 05:00:00.25+00`; null for what is no such time. */
function msOf(value: string): number | null {
  const ms = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00$/u.test(value)
    ? Date.parse(`${value.slice(0, 10)}T${value.slice(11, -3)}Z`)
    : NaN;
  return Number.isNaN(ms) ? null : ms;
}

function rangeOf<T extends string | number>(
  conditions: readonly Condition[],
  read: (value: string) => T | null,
): { from: T | null; to: T | null } {
  let from: T | null = null;
  let to: T | null = null;
  for (const { operator, value } of conditions) {
    const bound = read(value);
    if (operator !== "<" && operator !== "<=") from = later(from, bound);
    if (operator !== ">" && operator !== ">=") to = earlier(to, bound);
  }
  return { from, to };
}

function later<T extends string | number>(a: T | null, b: T | null): T | null {
  return a === null || (b !== null && b > a) ? b : a;
}

function earlier<T extends string | number>(a: T | null, b: T | null): T | null {
  return a === null || (b !== null && b < a) ? b : a;
}

/** What holds for rows of both. */
function either(a: Bounds, b: Bounds): Bounds {
  const first = <T extends string | number>(x: T | null, y: T | null): T | null =>
    x === null || y === null ? null : x < y ? x : y;
  const last = <T extends string | number>(x: T | null, y: T | null): T | null =>
    x === null || y === null ? null : x > y ? x : y;
  const all = <T>(x: readonly T[] | null, y: readonly T[] | null): T[] | null =>
    x === null || y === null ? null : [...new Set([...x, ...y])];
  return {
    dates: { from: first(a.dates.from, b.dates.from), to: last(a.dates.to, b.dates.to) },
    times: { from: first(a.times.from, b.times.from), to: last(a.times.to, b.times.to) },
    instruments: all(a.instruments, b.instruments),
    symbols: all(a.symbols, b.symbols),
  };
}
