/** Job files that are due every second. All they name is listed on the simulated market as well. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCalendar } from "../../../src/market/calendar/tradingCalendar.ts";
import { contractDate, nextExpirations } from "../../../src/market/expirations.ts";

/** How much is due. */
export type Load = {
  /** Symbols due every second, in calls of 100. */
  symbols: number;
  /** Time between two slots of the symbols, in s: a divisor of 60. Default 1. */
  symbolsEverySeconds?: number;
  /** Option contracts, each a call of its own. */
  options: number;
  /** Time between two slots of the contracts, in s: a divisor of 60. Default 1. */
  optionsEverySeconds?: number;
  /** Symbols due every five seconds besides. */
  slowSymbols: number;
};

/** A job as its file has it. */
export type DueJob = {
  name: string;
  /** Time between two slots, in ms. */
  stepMs: number;
  /** All that is due at each of them, as the ledger names it. */
  names: string[];
};

/** Writes them. */
export function writeJobs(
  dir: string,
  { symbols, symbolsEverySeconds = 1, options, optionsEverySeconds = 1, slowSymbols }: Load,
  now: Date,
): DueJob[] {
  const nyse = createCalendar();
  const expiration =
    nextExpirations({ kind: "monthly", next: 3 }, contractDate(now, nyse), nyse).at(-1) ?? "";
  const strikes = Array.from({ length: options }, (_, n) => 100 + n);
  const jobs = [
    { name: "equities", seconds: symbolsEverySeconds, ...listOf(symbolsFrom(0, symbols)) },
    {
      ...{ name: "options", seconds: optionsEverySeconds },
      names: strikes.map((strike) => `AAPL:${expiration}:CALL:${strike}`),
      what: `options: [${strikes
        .map((strike) => `{ underlying: AAPL, expiration: ${expiration}, type: CALL, strike: ${strike} }`)
        .join(", ")}]`,
    },
    { name: "slow", seconds: 5, ...listOf(symbolsFrom(5_000, slowSymbols)) },
  ].filter(({ names }) => names.length > 0);
  for (const { name, seconds, what } of jobs)
    writeFileSync(
      join(dir, `${name}.yaml`),
      `name: ${name}\nschedule: "${seconds === 1 ? "*" : `*/${seconds}`} * * * * *"\nsession: always\n${what}\n`,
    );
  return jobs.map(({ name, seconds, names }) => ({ name, names, stepMs: 1_000 * seconds }));
}

function symbolsFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `SIM${String(first + n).padStart(4, "0")}`);
}

function listOf(names: string[]): { names: string[]; what: string } {
  return { names, what: `symbols: [${names.join(", ")}]` };
}
