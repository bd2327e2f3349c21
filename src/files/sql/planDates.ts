/**
 * The exchange dates that a statement can need of each table, found in DuckDB's plan of it: the conditions that the plan puts
 * to the rows as they are read. A condition that is not understood bounds nothing: too many dates are read then, never too few.
 * Pure.
 */
import { exchangeDate } from "../../market/calendar/dates.ts";

export type PlanNode = { extra_info?: Record<string, unknown>; children?: readonly PlanNode[] };

/** Both ends are included; null: no end. */
export type DateRange = { from: string | null; to: string | null };

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
export function datesOfPlan(
  plan: readonly PlanNode[],
  timeOf: (table: string) => string | null,
): Map<string, DateRange> {
  const found = new Map<string, DateRange>();
  const visit = ({ extra_info: info = {}, children = [] }: PlanNode): void => {
    const [, table] = /\bparts\.(\w+)$/u.exec(String(info["Table"] ?? "")) ?? [];
    if (table !== undefined) {
      const range: DateRange = { from: null, to: null };
      for (const filter of [info["Filters"] ?? []].flat()) narrow(range, String(filter), timeOf(table));
      const before = found.get(table);
      found.set(table, before ? either(before, range) : range);
    }
    children.forEach(visit);
  };
  plan.forEach(visit);
  return found;
}

/** Narrows a range to a filter's conditions; not at all where a part of it is not understood, such as an `OR`. */
function narrow(range: DateRange, filter: string, time: string | null): void {
  const narrower = { ...range };
  NEXT.lastIndex = 0;
  while (NEXT.lastIndex < filter.length) {
    const match = NEXT.exec(filter);
    if (!match) return;
    const [, column, operator = "", value = ""] = match;
    const date = column === undefined ? null : dateOf(column, value, time);
    if (date === null) continue;
    if (!operator.startsWith("<") && (narrower.from === null || date > narrower.from)) narrower.from = date;
    if (!operator.startsWith(">") && (narrower.to === null || date < narrower.to)) narrower.to = date;
  }
  Object.assign(range, narrower);
}

/** The exchange date of a value such as `'2026-11-18'::DATE` or `'2026-11-18 05:00:00.25+00'::...`; null: of another column. */
function dateOf(column: string, value: string, time: string | null): string | null {
  const [, date = "", at] = /^'(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?)\+00)?'/u.exec(value) ?? [];
  if (column === "date" && at === undefined && date !== "") return date;
  return column === time && at !== undefined ? exchangeDate(new Date(`${date}T${at}Z`)) : null;
}

function either(a: DateRange, b: DateRange): DateRange {
  return {
    from: a.from === null || b.from === null ? null : a.from < b.from ? a.from : b.from,
    to: a.to === null || b.to === null ? null : a.to > b.to ? a.to : b.to,
  };
}
