/** A world whose collectors ask a living service's fake for a stock and for whole chains, and a person who logs in there. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { systemClock } from "../../../src/ground/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { type FakeAlpaca, KEYS, startFakeAlpaca } from "../../fakes/alpaca/fake.ts";
import { CONSUMER, type FakeEtrade, startFakeEtrade } from "../../fakes/etrade/fake.ts";
import { type FakeTradier, startFakeTradier, TOKENS } from "../../fakes/tradier/fake.ts";
import type { Span } from "./lives.ts";
import type { World, WorldOptions } from "./world.ts";

/** From a slot to the next. */
export const STEP_MS = 2_000;

/** What is asked for, and how often. */
type Demand = { expirations: string; stepMs: number };

const ALL: Demand = { expirations: "listed", stepMs: STEP_MS };

/** Fewer chains, for each is three calls where it comes in three pages; a slot outlasts a restart. */
const FEW: Demand = { expirations: "{ next: 5, kind: weekly }", stepMs: 3 * STEP_MS };

const jobOf = ({ expirations, stepMs }: Demand): string => `name: whole
schedule: "*/${stepMs / 1_000} * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: ${expirations}, strikes: all }
`;

/** So few contracts that a slow machine is done with them within a slot; the exchange of each is open around the clock. */
const fakeOptions = () => ({
  ...{ clock: systemClock, market: createSimulatedMarket({ seed: 1 }), calendar: alwaysOpen },
  ...{ mostStrikes: 4, trading: () => "usual" as const },
});

/** As good as none. */
const MANY = 1_000_000;

type LivingFake = {
  calls: readonly { path: string; status: number | null }[];
  close: () => Promise<void>;
};

/** Opens a world on some database, with these options. */
type Open = (options: WorldOptions) => Promise<World>;

/** @param at the fake's address, settings of an account there, and what is asked for */
async function worldAt<Fake extends LivingFake>(
  fake: Fake,
  {
    baseUrl,
    settings,
    demand = ALL,
  }: {
    baseUrl: string;
    settings: Record<string, string>;
    demand?: Demand;
  },
  open: Open,
): Promise<{ fake: Fake; world: World }> {
  const opened = await open({
    ...{ load: { symbols: 0, options: 0, slowSymbols: 0 }, settings },
    openFeed: () =>
      Promise.resolve({
        baseUrl,
        answered: () => fake.calls.filter(({ path, status }) => /^\/v\d/.test(path) && status === 200).length,
        close: fake.close,
      }),
  });
  writeFileSync(join(opened.env()["QUOTEKEEPER_JOBS_DIR"] ?? "", "whole.yaml"), jobOf(demand));
  return { fake, world: { ...opened, jobs: [{ name: "whole", stepMs: demand.stepMs, names: [] }] } };
}

export async function openTradierWorld(open: Open): Promise<{ fake: FakeTradier; world: World }> {
  const fake = await startFakeTradier({ ...fakeOptions(), limit: { says: MANY, holds: MANY } });
  const settings = { QUOTES_SERVICE: "tradier", QUOTES_ACCESS_TOKEN: TOKENS.token };
  return worldAt(fake, { baseUrl: fake.baseUrl, settings }, open);
}

/** Each chain comes in three pages, and so does the list of contracts. */
export async function openAlpacaWorld(open: Open): Promise<{ fake: FakeAlpaca; world: World }> {
  const pages = { mostOfAPage: 3, mostOfAList: 60 };
  const fake = await startFakeAlpaca({ ...fakeOptions(), ...pages, limit: { calls: MANY } });
  const settings = {
    QUOTES_SERVICE: "alpaca",
    QUOTES_ALPACA_TRADING_URL: fake.tradingUrl,
    QUOTES_ALPACA_KEY_ID: KEYS.keyId,
    QUOTES_ALPACA_SECRET_KEY: KEYS.secretKey,
  };
  return worldAt(fake, { baseUrl: fake.dataUrl, settings, demand: FEW }, open);
}

/** Nobody is logged in. */
export async function openEtradeWorld(open: Open): Promise<{ fake: FakeEtrade; world: World }> {
  const fake = await startFakeEtrade({ ...fakeOptions(), limit: { perSecond: MANY, perHour: MANY } });
  const settings = {
    ...{ QUOTES_SERVICE: "etrade", QUOTES_ACCESS_TOKEN: "", QUOTES_ACCESS_TOKEN_SECRET: "" },
    ...{ QUOTES_CONSUMER_KEY: CONSUMER.key, QUOTES_CONSUMER_SECRET: CONSUMER.secret },
  };
  return worldAt(fake, { baseUrl: fake.baseUrl, settings }, open);
}

/**
 * `quotekeeper login` as a process, and the person at it.
 *
 * @param authorize opens the address that it prints, and gives the code that is shown there
 * @returns within which the login was made
 */
export async function logIn(
  { bin, env, dataDir }: World,
  authorize: (url: string) => Promise<string>,
): Promise<Span> {
  const fromMs = systemClock.now().getTime();
  const child = spawn(process.execPath, [bin, "login"], {
    cwd: dirname(dataDir),
    env: { PATH: process.env["PATH"] ?? "", ...env() },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const said = text(child.stderr);
  let printed = "";
  for await (const piece of child.stdout) {
    printed += String(piece);
    const url = /(http\S+)\s+The code that the page shows: $/.exec(printed)?.[1];
    if (url !== undefined) child.stdin.end(`${await authorize(url)}\n`);
  }
  const exitCode = await ended;
  if (exitCode !== 0) throw new Error(`login ended with ${exitCode}: ${printed}${await said}`);
  return { fromMs, toMs: systemClock.now().getTime() };
}
