/** How much is due against what the budget allows, for kills within slots that outlast them. */
import type { WorldOptions } from "./world.ts";

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
