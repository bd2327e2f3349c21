/** The jobs that programs are measured with. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Symbols of the simulated market. */
const SYMBOLS = 5_000;

const DUE = `schedule: "* * * * *"\nsession: always\n`;

const chainOf = (underlying: string): string =>
  [
    `  - underlying: ${underlying}`,
    "    expirations: { next: 2, kind: monthly }",
    "    strikes: { around: last, percent: 4, step: 5 }",
    "    types: [CALL, PUT]",
    "",
  ].join("\n");

/** Writes jobs of 5,000 symbols and two chains, each minute. @param dir is made */
export function writeManySymbols(dir: string): void {
  mkdirSync(dir);
  const symbols = Array.from({ length: SYMBOLS }, (_, number) => `SIM${String(number).padStart(4, "0")}`);
  writeFileSync(join(dir, "symbols.txt"), symbols.join("\n"));
  writeFileSync(join(dir, "many.yaml"), `name: many\n${DUE}priority: 5\nsymbolsFile: ./symbols.txt\n`);
  writeFileSync(
    join(dir, "chains.yaml"),
    `name: chains\n${DUE}chains:\n${chainOf("AAPL")}${chainOf("MSFT")}`,
  );
}
