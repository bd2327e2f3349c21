/**
 * npm run fake -- alpaca [--port N] [--plan basic|plus] [--window fixed|sliding] [--always-open] [--seed N] [--fault NAME --every N]
 *
 * A service of one's own that speaks Alpaca's protocol with the simulated market's prices; none of them is real. The data host
 * listens on the port, the trading host on the next one. Prints the lines for `.env`. `--always-open`: prices move at night and on
 * holidays too. `--fault`: a name of `FAULT_NAMES`, for each N-th call.
 */
import { parseArgs } from "node:util";
import { systemClock } from "../../../src/ground/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { KEYS, startFakeAlpaca } from "./fake.ts";
import { FAULT_NAMES } from "./faults.ts";

const { values: flags } = parseArgs({
  options: {
    port: { type: "string", default: "8089" },
    plan: { type: "string", default: "basic" },
    window: { type: "string", default: "fixed" },
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

const { dataUrl, tradingUrl } = await startFakeAlpaca({
  clock: systemClock,
  market: createSimulatedMarket({ seed: Number(flags.seed) }),
  calendar: flags["always-open"] ? alwaysOpen : undefined,
  plan: flags.plan === "plus" ? "plus" : "basic",
  limit: { window: flags.window === "sliding" ? "sliding" : "fixed" },
  faults: fault ? [{ fault, every: Number(flags.every) }] : [],
  port: Number(flags.port),
});

process.stdout.write(`A fake of Alpaca listens. No price of it is real.
The lines for .env:

QUOTES_SERVICE=alpaca
QUOTES_BASE_URL=${dataUrl}
QUOTES_ALPACA_TRADING_URL=${tradingUrl}
QUOTES_ALPACA_KEY_ID=${KEYS.keyId}
QUOTES_ALPACA_SECRET_KEY=${KEYS.secretKey}
`);
