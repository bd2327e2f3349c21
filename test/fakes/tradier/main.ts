/**
 * npm run fake -- tradier [--port N] [--sandbox] [--token TOKEN] [--always-open] [--seed N] [--fault NAME --every N]
 *
 * A service of one's own that speaks Tradier's protocol with the simulated market's prices; none of them is real. Prints the
 * lines for `.env`. `--always-open`: prices move at night and on holidays too. `--fault`: a name of `FAULT_NAMES`, for
 * each N-th call.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../../../src/ground/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { startFakeTradier, TOKENS } from "./fake.ts";
import { FAULT_NAMES } from "./faults.ts";

const { values: flags } = parseArgs({
  options: {
    port: { type: "string", default: "8089" },
    sandbox: { type: "boolean", default: false },
    token: { type: "string", default: TOKENS.token },
    "always-open": { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    fault: { type: "string" },
    every: { type: "string", default: "10" },
  },
});

const fault = FAULT_NAMES.find((name) => name === flags.fault);
if (flags.fault !== undefined && !fault) {
  process.stderr.write(`--fault is one of ${FAULT_NAMES.join(", ")}\n`);
  process.exit(2);
}

const { baseUrl } = await startFakeTradier({
  clock: systemClock,
  market: createSimulatedMarket({ seed: Number(flags.seed) }),
  calendar: flags["always-open"] ? alwaysOpen : undefined,
  sandbox: flags.sandbox,
  tokens: { token: flags.token },
  faults: fault ? [{ fault, every: Number(flags.every) }] : [],
  port: Number(flags.port),
});

process.stdout.write(`A fake of Tradier${flags.sandbox ? "'s sandbox" : ""} listens. No price of it is real.
The lines for .env:

QUOTES_SERVICE=tradier
QUOTES_BASE_URL=${baseUrl}
QUOTES_ACCESS_TOKEN=${flags.token}
`);
