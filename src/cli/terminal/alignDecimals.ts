/** Numbers of a column, filled up so that their decimal points stand below each other. Pure. */

/** What is a number and nothing else: `-3.34`, `1,234`, `4.9E-324`. */
const NUMBER = /^[-+\u2212]?[\d,]+(\.\d+)?(E[-+]?\d+)?$/i;

type Rows = readonly (readonly (string | null)[])[];

/** @param columns those to the `right` that hold numbers alone get blanks behind their shorter decimals */
export function alignDecimals(columns: readonly { right?: boolean }[], rows: Rows): Rows {
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
