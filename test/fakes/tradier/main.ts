/**
 * npm run fake -- tradier [--port N] [--sandbox] [--token TOKEN] [--always-open] [--seed N] [--fault NAME --every N]
 *
 * A service of one's own that speaks Tradier's protocol with the simulated market's prices; none of them is real. Prints the
 * lines for `.env`. `--always-open`: prices move at night and on holidays too. `--fault`: a name of `FAULT_NAMES`, for
 * each N-th call.
 */
import { parseArgs } from "node:util";
import { startFakeTradier, TOKENS } from "./fake.ts";
import { FLAGS, givenBy } from "../flags.ts";
import { FAULT_NAMES } from "./faults.ts";

const { values: flags } = parseArgs({
  options: {
    ...FLAGS,
    port: { type: "string", default: "8089" },
    sandbox: { type: "boolean", default: false },
    token: { type: "string", default: TOKENS.token },
  },
});

const { baseUrl } = await startFakeTradier({
  ...givenBy(flags, FAULT_NAMES),
  sandbox: flags.sandbox,
  tokens: { token: flags.token },
  port: Number(flags.port),
});

process.stdout.write(`A fake of Tradier${flags.sandbox ? "'s sandbox" : ""} listens. No price of it is real.
The lines for .env:

QUOTES_SERVICE=tradier
QUOTES_BASE_URL=${baseUrl}
QUOTES_ACCESS_TOKEN=${flags.token}
`);
