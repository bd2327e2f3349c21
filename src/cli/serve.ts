/** `quotekeeper serve --source simulated`: a Market Quotes Service of one's own. */
import type { Config } from "../config/loadEnvironment.ts";
import type { Credentials } from "../quotes-api/oauth/signature.ts";
import { SERVICE_LIMITS } from "../serve/limits.ts";
import { createQuoteService } from "../serve/quoteService.ts";
import { createSimulatedMarket } from "../serve/simulated/market.ts";
import type { Edges } from "./edges.ts";
import { randomCredentials } from "./parts/feed.ts";
import { createLogger } from "./parts/logger.ts";

/** What to serve, and to whom; no keys: one is made for the run and shown. */
export type ServeRequest = { host: string; port: number; seed: number; keys: Credentials[] };

/** Serves until Ctrl-C or SIGTERM; returns 0 then. */
export async function serve(
  config: Config,
  edges: Edges,
  { host, port, seed, keys }: ServeRequest,
): Promise<number> {
  const { clock, stdout } = edges;
  const interrupted = new Promise<string>((resolve) => void edges.onInterrupt(resolve));
  const made = keys.length === 0 ? randomCredentials(clock) : null;
  const service = createQuoteService({
    source: createSimulatedMarket({ seed }),
    keys: made ? [made] : keys,
    clock,
    limits: { ...SERVICE_LIMITS, quotes: config.limit, windowMs: config.limitWindowMs },
    logger: createLogger(config.logLevel, edges.stderr),
  });
  const baseUrl = await service.listen({ host, port });
  stdout.write(`Market Quotes Service, SIMULATED market (seed ${seed}, open around the clock)\n`);
  stdout.write(`QUOTES_BASE_URL=${baseUrl}\n`);
  if (made) stdout.write(keyLines(made));
  stdout.write("Ctrl-C ends it.\n");
  await interrupted;
  await service.close();
  return 0;
}

/** The key of this run, as lines for a shell or an .env file. It dies with the process. */
function keyLines({ consumerKey, consumerSecret, accessToken, accessTokenSecret }: Credentials): string {
  return [
    `QUOTES_CONSUMER_KEY=${consumerKey}`,
    `QUOTES_CONSUMER_SECRET=${consumerSecret}`,
    `QUOTES_ACCESS_TOKEN=${accessToken}`,
    `QUOTES_ACCESS_TOKEN_SECRET=${accessTokenSecret}`,
    "",
  ].join("\n");
}
