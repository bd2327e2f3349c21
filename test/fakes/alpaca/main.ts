/**
 * npm run fake -- alpaca [--port N] [--plan basic|plus] [--window fixed|sliding] [--always-open] [--seed N] [--fault NAME --every N]
 *
 * A service of one's own that speaks Alpaca's protocol with the simulated market's prices; none of them is real. The data host
 * listens on the port, the trading host on the next one. Prints the lines for `.env`. `--always-open`: prices move at night and on
 * holidays too. `--fault`: a name of `FAULT_NAMES`, for each N-th call.
 */
import { parseArgs } from "node:util";
import { KEYS, startFakeAlpaca } from "./fake.ts";
import { FLAGS, givenBy } from "../flags.ts";
import { FAULT_NAMES } from "./faults.ts";

const { values: flags } = parseArgs({
  options: {
    ...FLAGS,
    port: { type: "string", default: "8089" },
    plan: { type: "string", default: "basic" },
    window: { type: "string", default: "fixed" },
  },
});

const { dataUrl, tradingUrl } = await startFakeAlpaca({
  ...givenBy(flags, FAULT_NAMES),
  plan: flags.plan === "plus" ? "plus" : "basic",
  limit: { window: flags.window === "sliding" ? "sliding" : "fixed" },
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
