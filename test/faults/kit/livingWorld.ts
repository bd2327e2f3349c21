/** A world whose collectors ask a living service's fake for a stock and for whole chains, and a person who logs in there. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { systemClock } from "../../../src/clock.ts";
import { alwaysOpen } from "../../../src/market/calendar/tradingCalendar.ts";
import { createSimulatedMarket } from "../../../src/serve/simulated/market.ts";
import { freshDatabase } from "../../support/database.ts";
import type { Span } from "./lives.ts";
import { openWorldOn, type World } from "./world.ts";

/** From a slot to the next. */
export const STEP_MS = 2_000;

const JOB = `name: whole
schedule: "*/${STEP_MS / 1_000} * * * * *"
session: always
symbols: [AAPL]
chains:
  - { underlying: AAPL, expirations: listed, strikes: all }
`;

/** A fake that is never closed, and has so few contracts that a slow machine is done with them within a slot. */
export const fakeOptions = () => ({
  ...{ clock: systemClock, market: createSimulatedMarket({ seed: 1 }), calendar: alwaysOpen },
  ...{ mostStrikes: 4, trading: () => "usual" as const },
});

type LivingFake = {
  baseUrl: string;
  calls: readonly { path: string; status: number | null }[];
  close: () => Promise<void>;
};

/** @param settings of an account at the fake, but for its address */
export async function openLivingWorld(
  fake: LivingFake,
  bin: string,
  settings: Record<string, string>,
): Promise<World> {
  const { url } = await freshDatabase();
  const opened = await openWorldOn(url, {
    ...{ bin, migrated: false, load: { symbols: 0, options: 0, slowSymbols: 0 }, settings },
    openFeed: () =>
      Promise.resolve({
        baseUrl: fake.baseUrl,
        answered: () =>
          fake.calls.filter(({ path, status }) => path.startsWith("/v1/") && status === 200).length,
        close: fake.close,
      }),
  });
  writeFileSync(join(opened.env()["QUOTEKEEPER_JOBS_DIR"] ?? "", "whole.yaml"), JOB);
  return { ...opened, jobs: [{ name: "whole", stepMs: STEP_MS, names: [] }] };
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
