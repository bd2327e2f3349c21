/** The project's own service at a hundred times its speed: a hundred times the calls, of a market that moves as fast. */
import { systemClock } from "../../src/ground/clock.ts";
import { SERVICE_LIMITS } from "../../src/serve/limits.ts";
import { createQuoteService } from "../../src/serve/quoteService.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import type { Feed } from "../../test/faults/kit/feed.ts";
import { CREDENTIALS } from "../../test/faults/kit/world.ts";

/** How many times as fast. */
export const SPEED = 100;

/** Starts it on a free port of loopback. */
export async function startFastService(): Promise<Feed> {
  const market = createSimulatedMarket({ seed: 1 });
  const startedAtMs = systemClock.now().getTime();
  let answered = 0;
  const service = createQuoteService({
    source: {
      ...market,
      quotes: (keys, { now, delayed }) => {
        const played = new Date(startedAtMs + SPEED * (now.getTime() - startedAtMs));
        return market.quotes(keys, { now: played, delayed });
      },
    },
    keys: [CREDENTIALS],
    clock: systemClock,
    limits: { ...SERVICE_LIMITS, quotes: SPEED * SERVICE_LIMITS.quotes },
    logger: { info: () => (answered += 1), error: () => undefined },
  });
  const baseUrl = await service.listen({ host: "127.0.0.1", port: 0 });
  return { baseUrl, answered: () => answered, close: service.close };
}
