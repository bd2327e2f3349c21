/** The real simulated service, listening on a real socket. */
import { afterAll } from "@jest/globals";
import type { Clock } from "../../src/ground/clock.ts";
import type { Credentials } from "../../src/services/oauth/signature.ts";
import { createQuoteService, type QuoteServiceOptions } from "../../src/serve/quoteService.ts";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";

/** The account that the service of a test knows. */
export const TEST_CREDENTIALS: Credentials = {
  consumerKey: "test-consumer",
  consumerSecret: "test-consumer-secret",
  accessToken: "test-token",
  accessTokenSecret: "test-token-secret",
};

/** The settings of an account of the service at an address. */
export const accountAt = (baseUrl: string): Record<string, string> => ({
  QUOTES_BASE_URL: baseUrl,
  QUOTES_CONSUMER_KEY: TEST_CREDENTIALS.consumerKey,
  QUOTES_CONSUMER_SECRET: TEST_CREDENTIALS.consumerSecret,
  QUOTES_ACCESS_TOKEN: TEST_CREDENTIALS.accessToken,
  QUOTES_ACCESS_TOKEN_SECRET: TEST_CREDENTIALS.accessTokenSecret,
});

/** A running service. */
export type RunningService = {
  /** Base address, without `/v1`. */
  baseUrl: string;
  credentials: Credentials;
  market: ReturnType<typeof createSimulatedMarket>;
  close: () => Promise<void>;
};

const closers: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Starts the service on a free port of loopback; it is closed when the test file ends. */
export async function startSimulatedService(
  clock: Clock,
  { seed = 1, ...options }: { seed?: number } & Partial<QuoteServiceOptions> = {},
): Promise<RunningService> {
  const market = createSimulatedMarket({ seed });
  const service = createQuoteService({ source: market, keys: [TEST_CREDENTIALS], clock, ...options });
  const baseUrl = await service.listen({ host: "127.0.0.1", port: 0 });
  closers.push(service.close);
  return { baseUrl, credentials: TEST_CREDENTIALS, market, close: service.close };
}
