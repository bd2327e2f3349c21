/** What the fakes' programs have in common: some flags, and what these say: a market with made-up prices, its hours, faults on purpose. */
import { systemClock } from "../../src/ground/clock.ts";
import { alwaysOpen } from "../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";

/** As `parseArgs` of Node takes them. */
export const FLAGS = {
  "always-open": { type: "boolean", default: false },
  seed: { type: "string", default: "1" },
  fault: { type: "string" },
  every: { type: "string", default: "10" },
} as const;

type Flags = { "always-open": boolean; seed: string; fault?: string | undefined; every: string };

/** What each fake is started with. Ends the program where `--fault` names none of the faults. */
export function givenBy<Fault extends string>(flags: Flags, faults: readonly Fault[]) {
  const fault = faults.find((name) => name === flags.fault);
  if (flags.fault !== undefined && !fault) {
    process.stderr.write(`--fault is one of ${faults.join(", ")}\n`);
    process.exit(2);
  }
  return {
    clock: systemClock,
    market: createSimulatedMarket({ seed: Number(flags.seed) }),
    calendar: flags["always-open"] ? alwaysOpen : undefined,
    faults: fault ? [{ fault, every: Number(flags.every) }] : [],
  };
}
