/** Fakes of the living services on loopback, with the settings of an account at each; they are closed when the test file ends. */
import { afterAll } from "@jest/globals";
import { createSimulatedMarket } from "../../src/serve/simulated/market.ts";
import { type FakeAlpaca, type FakeAlpacaOptions, KEYS, startFakeAlpaca } from "../fakes/alpaca/fake.ts";
import { CONSUMER, type FakeEtrade, type FakeEtradeOptions, startFakeEtrade } from "../fakes/etrade/fake.ts";
import {
  type FakeTradier,
  type FakeTradierOptions,
  startFakeTradier,
  TOKENS,
} from "../fakes/tradier/fake.ts";

/** From which they answer. */
export const market = createSimulatedMarket({ seed: 1 });

const closers: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** What a fake is given; ten strikes are the most by default. */
export type Given<Options extends { clock: unknown }> = Partial<Options> & Pick<Options, "clock">;

export async function openFakeTradier(given: Given<FakeTradierOptions>) {
  const fake: FakeTradier = await startFakeTradier({ market, mostStrikes: 10, ...given });
  closers.push(fake.close);
  const settings = {
    QUOTES_SERVICE: "tradier",
    QUOTES_BASE_URL: fake.baseUrl,
    QUOTES_ACCESS_TOKEN: TOKENS.token as string,
  };
  return { fake, settings };
}

export async function openFakeAlpaca(given: Given<FakeAlpacaOptions>) {
  const fake: FakeAlpaca = await startFakeAlpaca({ market, mostStrikes: 10, ...given });
  closers.push(fake.close);
  const { keyId, secretKey } = given.keys ?? KEYS;
  const settings = {
    QUOTES_SERVICE: "alpaca",
    QUOTES_BASE_URL: fake.dataUrl,
    QUOTES_ALPACA_TRADING_URL: fake.tradingUrl,
    QUOTES_ALPACA_KEY_ID: keyId as string,
    QUOTES_ALPACA_SECRET_KEY: secretKey as string,
  };
  return { fake, settings };
}

export async function openFakeEtrade(given: Given<FakeEtradeOptions>) {
  const fake: FakeEtrade = await startFakeEtrade({ market, mostStrikes: 10, ...given });
  closers.push(fake.close);
  const settings = {
    QUOTES_SERVICE: "etrade",
    QUOTES_BASE_URL: fake.baseUrl,
    QUOTES_CONSUMER_KEY: CONSUMER.key,
    QUOTES_CONSUMER_SECRET: CONSUMER.secret,
  };
  return { fake, settings };
}
