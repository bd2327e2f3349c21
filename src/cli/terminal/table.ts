/** Aligned tables that fit the terminal. */
import type { Sink } from "../../run/edges.ts";
import { oneLine } from "./harmless.ts";
import { type Paint, painter } from "./screen.ts";
import { fold, widthOf, wrapTo } from "./width.ts";

/** Columns of a table: heading, whether it holds numbers, and whether its text may go on in the next line. */
type Column = {
  heading: string;
  right?: boolean;
  /** Characters behind which a text that is too wide for the table may go on in another line; blanks always do. */
  wrap?: string;
};

/** A cell; null leaves it empty. */
type Cell = string | null;

/** Blanks between columns, and when there is little room. */
const GAPS = [2, 1] as const;

/** Where a table is printed. */
type TableEdges = {
  stdout: Pick<Sink, "isTTY"> & { columns?: number };
  env: Readonly<Record<string, string | undefined>>;
};

/** The least that a column which may go on in the next line gets. */
const LEAST_WRAPPED = 12;

/**
 * An aligned table without lines; the headings bold on a terminal that wants colour. Numbers stand with their decimal
 * points below each other. On a terminal, and where columns that may wrap are given, it is no wider than the sink: those
 * go on in another line, and when that is not enough, each row becomes a block of a heading and a value a line. Nothing
 * is ever cut.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { stdout, env }: TableEdges,
): string {
  const paint = painter(stdout, env);
  const fits = stdout.isTTY || columns.some(({ wrap }) => wrap !== undefined);
  const room = (fits && stdout.columns) || Infinity;
  const harmless = rows.map((row) => row.map((cell) => (cell === null ? null : oneLine(cell))));
  const pointed = alignDecimals(columns, harmless);
  // A name in one piece is worth more than a wide gap.
  for (const wrapping of [false, true]) {
    for (const gap of GAPS) {
      const fitting = fitted(columns, pointed, { room, gap, wrapping });
      if (fitting) return aligned(columns, fitting, { gap, paint });
    }
  }
  return blocks(columns, harmless, { paint, room });
}

/** The rows, with wide texts broken, if they may be, so that the table is no wider than `room`; null when it cannot be. */
function fitted(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { room, gap, wrapping }: { room: number; gap: number; wrapping: boolean },
): readonly (readonly Cell[])[] | null {
  const widths = columns.map(({ heading }, index) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[index] ?? "")), widthOf(heading)),
  );
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - room;
  if (excess <= 0) return rows;
  if (!wrapping) return null;
  let broken = rows;
  // The last first: what comes first names the row.
  for (const [index, { heading, wrap }] of [...columns.entries()].reverse()) {
    const width = widths[index] ?? 0;
    const least = Math.max(LEAST_WRAPPED, widthOf(heading));
    if (wrap === undefined || excess <= 0 || width <= least) continue;
    const narrow = Math.max(least, width - excess);
    excess -= width - narrow;
    broken = broken.map((row) =>
      row.map((cell, at) => (at === index ? wrapTo(cell ?? "", narrow, wrap).join("\n") : cell)),
    );
  }
  return excess <= 0 ? broken : null;
}

function aligned(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { gap, paint }: { gap: number; paint: Paint },
): string {
  const head = columns.map(({ heading }) => heading);
  const cells = rows.map((row) => row.map((cell) => (cell ?? "").split("\n")));
  const widths = columns.map((_column, index) =>
    cells.reduce(
      (most, row) => Math.max(most, ...(row[index] ?? []).map(widthOf)),
      widthOf(head[index] ?? ""),
    ),
  );
  const lineOf = (texts: readonly string[]): string =>
    texts
      .map((text, index) => {
        const blanks = " ".repeat((widths[index] ?? 0) - widthOf(text));
        return columns[index]?.right ? blanks + text : text + blanks;
      })
      .join(" ".repeat(gap));
  const lines = cells.flatMap((row) => {
    const height = Math.max(...row.map((texts) => texts.length));
    return Array.from({ length: height }, (_line, at) => lineOf(row.map((texts) => texts[at] ?? "")));
  });
  return [lineOf(head.map((heading) => paint("bold", heading))), ...lines]
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** A block for each row: its first cell, and under it a heading and a value a line. */
function blocks(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { paint, room }: { paint: Paint; room: number },
): string {
  const widest = Math.max(...columns.slice(1).map(({ heading }) => widthOf(heading)));
  return rows
    .flatMap(([first, ...cells]) => [
      ...fold(paint("bold", first ?? ""), room),
      ...cells.flatMap((cell, index) => {
        const heading = columns[index + 1]?.heading ?? "";
        if (cell === null || cell === "") return [];
        return fold(`  ${heading}${" ".repeat(widest - widthOf(heading))}  ${cell}`, room);
      }),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

/** What is a number and nothing else: `-3.34`, `1,234`, `4.9E-324`. */
const NUMBER = /^[-+\u2212]?[\d,]+(\.\d+)?(E[-+]?\d+)?$/i;

type Rows = readonly (readonly (string | null)[])[];

/** @param columns those to the `right` that hold numbers alone get blanks behind their shorter decimals */
function alignDecimals(columns: readonly { right?: boolean }[], rows: Rows): Rows {
  const tails = columns.map(({ right }, index) => {
    const cells = rows.flatMap((row) => row[index] ?? []);
    return right && cells.every((cell) => NUMBER.test(cell))
      ? cells.reduce((most, cell) => Math.max(most, tailOf(cell)), 0)
      : 0;
  });
  return rows.map((row) =>
    row.map((cell, index) => {
      const tail = tails[index] ?? 0;
      return cell === null || tail === 0 ? cell : `${cell}${" ".repeat(tail - tailOf(cell))}`;
    }),
  );
}

/** Characters from the point on. */
function tailOf(cell: string): number {
  const point = cell.indexOf(".");
  return point < 0 ? 0 : cell.length - point;
}
