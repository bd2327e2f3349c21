/**
 * npm run fake -- etrade [--port N] [--sandbox] [--delayed] [--always-open] [--seed N] [--fault NAME --every N]
 *
 * A service of one's own that speaks E*TRADE's protocol with the simulated market's prices; none of them is real. Prints the
 * lines for `.env`. `--delayed`: quotes are 15 minutes old, as without an agreement on market data. `--always-open`: prices
 * move at night and on holidays too. `--fault`: a name of `FAULT_NAMES`, for each N-th call.
 */
import { parseArgs } from "node:util";
import { CONSUMER, startFakeEtrade } from "./fake.ts";
import { FLAGS, givenBy } from "../flags.ts";
import { FAULT_NAMES } from "./faults.ts";

const { values: flags } = parseArgs({
  options: {
    ...FLAGS,
    port: { type: "string", default: "8090" },
    sandbox: { type: "boolean", default: false },
    delayed: { type: "boolean", default: false },
  },
});

const { baseUrl, authorizeUrl } = await startFakeEtrade({
  ...givenBy(flags, FAULT_NAMES),
  delayed: flags.delayed || flags.sandbox,
  sandbox: flags.sandbox,
  port: Number(flags.port),
});

process.stdout.write(`A fake of E*TRADE${flags.sandbox ? "'s sandbox" : ""} listens. No price of it is real.
The lines for .env:

QUOTES_SERVICE=etrade
QUOTES_BASE_URL=${baseUrl}
QUOTES_CONSUMER_KEY=${CONSUMER.key}
QUOTES_CONSUMER_SECRET=${CONSUMER.secret}

Log in with: quotekeeper login
The page on which a person says yes lies at ${authorizeUrl("REQUEST_TOKEN")}
`);
