import Table from "cli-table3";
import type { Sink } from "../edges.ts";

/** Columns of a table: heading, and whether it holds numbers. */
export type Column = { heading: string; right?: boolean };

const NO_BORDERS = Object.fromEntries(
  [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
    "left",
    "left-mid",
    "mid",
    "mid-mid",
    "right",
    "right-mid",
  ].map((part) => [part, ""]),
);

/** An aligned table without lines; the headings bold on a terminal that wants colour. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | null)[])[],
  { isTTY }: Pick<Sink, "isTTY">,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const colour = isTTY && !env["NO_COLOR"];
  const made = new Table({
    // Not by the library's own colours, which look at the process instead of the sink.
    head: columns.map(({ heading }) => (colour ? `\u001b[1m${heading}\u001b[22m` : heading)),
    colAligns: columns.map(({ right }) => (right ? "right" : "left")),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 2, compact: true },
    chars: { ...NO_BORDERS, middle: "" },
  });
  made.push(...rows.map((row) => row.map((cell) => cell ?? "")));
  return `${made
    .toString()
    .split("\n")
    .map((row) => row.trimEnd())
    .join("\n")}\n`;
}
