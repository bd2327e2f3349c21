/** Aligned tables that fit the terminal. */
import type { Sink } from "../../ground/edges.ts";
import { aligned as padded, placesOf } from "../../ground/figures.ts";
import { oneLine } from "./harmless.ts";
import { type Paint, painter } from "./colour.ts";
import { fold, widthOf, wrapTo } from "./width.ts";

type Column = {
  heading: string;
  right?: boolean;
  /** A text that is too wide continues in the next line, at a blank or behind one of these characters. */
  wrap?: string;
};

type Cell = string | null;

type Rows = readonly (readonly Cell[])[];

/** Blanks between columns, and when there is little room. */
const GAPS = [2, 1] as const;

type TableEdges = {
  stdout: Pick<Sink, "isTTY"> & { columns?: number };
  env: Readonly<Record<string, string | undefined>>;
};

const LEAST_WRAPPED = 12;

export function right(...headings: readonly string[]): Column[] {
  return headings.map((heading) => ({ heading, right: true }));
}

/**
 * An aligned table without lines. Headings are bold on a terminal that wants colour. The decimal points of a column
 * stand below each other. On a terminal, and where a column may wrap, the table is no wider than the sink: columns
 * wrap, and when that is not enough, each row becomes a block with a heading and a value a line. Nothing is cut.
 *
 * @param headings a text is a column of text that does not wrap
 */
export function table(
  headings: readonly (string | Column)[],
  rows: Rows,
  { stdout, env }: TableEdges,
): string {
  const columns = headings.map((given): Column => (typeof given === "string" ? { heading: given } : given));
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

/** The rows no wider than `room`, wrapped if that is allowed; null: they do not fit. */
function fitted(
  columns: readonly Column[],
  rows: Rows,
  { room, gap, wrapping }: { room: number; gap: number; wrapping: boolean },
): Rows | null {
  const widths = columns.map(({ heading }, index) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[index] ?? "")), widthOf(heading)),
  );
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - room;
  if (excess <= 0) return rows;
  if (!wrapping) return null;
  let broken = rows;
  // The last column wraps first: the first ones name the row.
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
  rows: Rows,
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

/** A block for each row: its first cell, then a line for each further cell, with the heading before it. */
function blocks(
  columns: readonly Column[],
  rows: Rows,
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

/** A cell that is one number: `-3.34`, `1,234`, `4.9E-324`. */
const NUMBER = /^[-+\u2212]?[\d,]+(\.\d+)?(E[-+]?\d+)?$/i;

/** Puts blanks behind the shorter decimals of columns that hold numbers alone. */
function alignDecimals(columns: readonly Column[], rows: Rows): Rows {
  const places = columns.map(({ right }, index) => {
    const cells = rows.flatMap((row) => row[index] ?? []);
    return right && cells.every((cell) => NUMBER.test(cell)) ? placesOf(cells) : 0;
  });
  return rows.map((row) => row.map((cell, index) => cell && padded(cell, places[index] ?? 0, " ")));
}
