/** How much is due against what the budget allows, for kills within slots that outlast them. */
import { movableClock } from "../scenarios/movedClocks.ts";
import type { WorldOptions } from "./world.ts";

/** A few contracts every five seconds. */
export const SPARSE: WorldOptions = {
  load: { symbols: 0, options: 6, optionsEverySeconds: 5, slowSymbols: 0 },
  settings: { QUOTES_LIMIT: "60" },
};

/** The same, with collectors whose wall clock can be moved. */
export const MOVABLE: WorldOptions = { ...SPARSE, settings: movableClock };

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
