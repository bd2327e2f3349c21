/** Job files that are due every second. All they name is listed on the simulated market as well. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCalendar } from "../../../src/market/calendar/calendar.ts";
import { contractDate, nextExpirations } from "../../../src/market/expirations.ts";

/** How much is due. */
export type Load = {
  /** Symbols due every second, in calls of 100. */
  symbols: number;
  /** Option contracts due every second, each a call of its own. */
  options: number;
  /** Symbols due every five seconds besides. */
  slowSymbols: number;
};

/** Writes them. @returns the time between two slots of each job, in ms */
export function writeJobs(dir: string, load: Load, now: Date): Map<string, number> {
  const jobs: { name: string; schedule: string; stepMs: number; count: number; what: string }[] = [
    {
      ...{ name: "equities", schedule: "* * * * * *", stepMs: 1_000, count: load.symbols },
      what: `symbols: [${symbols(0, load.symbols)}]`,
    },
    {
      ...{ name: "options", schedule: "* * * * * *", stepMs: 1_000, count: load.options },
      what: `options: [${contracts(load.options, now)}]`,
    },
    {
      ...{ name: "slow", schedule: "*/5 * * * * *", stepMs: 5_000, count: load.slowSymbols },
      what: `symbols: [${symbols(5_000, load.slowSymbols)}]`,
    },
  ];
  const wanted = jobs.filter(({ count }) => count > 0);
  for (const { name, schedule, what } of wanted)
    writeFileSync(
      join(dir, `${name}.yaml`),
      `name: ${name}\nschedule: "${schedule}"\nsession: always\n${what}\n`,
    );
  return new Map(wanted.map(({ name, stepMs }) => [name, stepMs]));
}

function symbols(first: number, count: number): string {
  return Array.from({ length: count }, (_, n) => `SIM${String(first + n).padStart(4, "0")}`).join(", ");
}

function contracts(count: number, now: Date): string {
  const expiration = nextExpirations("monthly", 3, contractDate(now), createCalendar()).at(-1);
  return Array.from(
    { length: count },
    (_, n) => `{ underlying: AAPL, expiration: ${expiration}, type: CALL, strike: ${100 + n} }`,
  ).join(", ");
}
