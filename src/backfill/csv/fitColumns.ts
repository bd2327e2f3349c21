/** Holds a map's columns against a file's header. Pure. */
import type { CsvColumn } from "../../read/csvCall.ts";
import { shown } from "../../read/cell.ts";
import { COLUMN_NAMES } from "./mapSchema.ts";

/** What the map's options under `columns` mean, and what is wrong with them. */
export type FittedColumns = {
  /** By option: the columns; of all but `time` there is one. */
  columns: Record<string, CsvColumn[]>;
  problems: { path: string[]; message: string }[];
};

/** Most names of a header that a problem lists. */
const MOST_NAMES = 30;

/**
 * A name of the header goes before a number.
 *
 * @param written what the map has; names that it may not have are left out, the schema tells of them
 * @param names of the header; null: the file has none
 */
export function fitColumns(
  written: Readonly<Record<string, string | string[]>>,
  names: readonly string[] | null,
): FittedColumns {
  const fitted: FittedColumns = { columns: {}, problems: [] };
  for (const [option, given] of Object.entries(written)) {
    if (!COLUMN_NAMES.includes(option)) continue;
    const found = [given].flat().map((text) => ({ text, column: columnOf(text.trim(), names) }));
    for (const { text, column } of found)
      if (typeof column === "object")
        fitted.problems.push({
          path: ["columns", option],
          message: `columns.${option} is ${text}: ${column.problem}`,
        });
    fitted.columns[option] = found.flatMap(({ column }) => (typeof column === "object" ? [] : [column]));
  }
  return fitted;
}

function columnOf(text: string, names: readonly string[] | null): CsvColumn | { problem: string } {
  const times = names?.filter((name) => name === text).length ?? 0;
  if (times === 1) return text;
  if (times > 1) return { problem: `the header has it ${times} times: give the column's number, from 1 on` };
  const isNumber = /^[1-9]\d{0,3}$/u.test(text);
  if (isNumber && (names === null || Number(text) <= names.length)) return Number(text);
  // Without a header it is the schema that asks for numbers.
  if (names === null) return isNumber ? Number(text) : text;
  return { problem: `expected one of ${listed(names)}` };
}

function listed(names: readonly string[]): string {
  const further = names.length - MOST_NAMES;
  const texts = names.slice(0, MOST_NAMES).map((name) => shown(name).slice(1, -1));
  return `${texts.join(", ")}${further > 0 ? ` and ${further} more` : ""}`;
}
