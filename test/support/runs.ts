/** How often a property is tried. */

/** So often, and `RUNS` times as often where that is set: `RUNS=10 npm test`. */
export function runs(few: number): number {
  return few * Number(process.env["RUNS"] || 1);
}
