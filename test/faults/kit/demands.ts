/** How much is due against what the budget allows, for kills within slots that outlast them. */
import type { RuleName } from "../../../bench/governor/service.ts";
import { movableClock } from "../scenarios/movedClocks.ts";
import type { NAMES } from "../scenarios/sharedAccounts.ts";
import type { Load } from "./jobs.ts";
import type { WorldOptions } from "./world.ts";

/** A few contracts every five seconds. */
export const SPARSE: WorldOptions = {
  load: { symbols: 0, options: 6, optionsEverySeconds: 5, slowSymbols: 0 },
  settings: { QUOTES_LIMIT: "60" },
};

/** The same, with collectors whose wall clock can be moved. */
export const MOVABLE: WorldOptions = { ...SPARSE, settings: movableClock };

/** What a fleet of four accounts has no trouble with, so that what is missed was a fault's; each is called every few seconds. */
export const FLEET_LOAD: Load = {
  ...{ symbols: 600, symbolsEverySeconds: 20, options: 40, optionsEverySeconds: 4, slowSymbols: 0 },
};

/** A quarter more than it can do. */
export const SATURATED_FLEET: Load = { symbols: 0, options: 1_000, optionsEverySeconds: 20, slowSymbols: 0 };

/** Each of the accounts is counted in a way of its own. */
export const FLEET_RULES: Readonly<Record<(typeof NAMES)[number], RuleName>> = {
  ...{ main: "first call", second: "sliding", third: "sliding, refused count", fourth: "token bucket" },
};

/** Kills come every two or three seconds: a slot of ten seconds is left and taken up again several times. */
export const DEMANDS = [
  {
    demand: "saturated",
    load: { symbols: 0, options: 60, optionsEverySeconds: 10, slowSymbols: 0 },
    settings: { QUOTES_LIMIT: "40", QUOTES_LIMIT_WINDOW_MS: "10000" },
  },
  {
    demand: "sparse",
    load: { symbols: 0, options: 4, optionsEverySeconds: 10, slowSymbols: 20 },
    settings: {},
  },
] as const satisfies readonly ({ demand: string } & WorldOptions)[];
