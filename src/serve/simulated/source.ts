/** The simulated market as a source of quotes, at the pace of life or at another. Pure. */
import { dateOf } from "../../clock.ts";
import { DELAYED_DEFAULT } from "../../quotes-api/parseRequest.ts";
import { type Playback, playedAt } from "../playback.ts";
import { DELAY_MS, type QuoteSource } from "../source.ts";
import type { SimulatedMarket } from "./market.ts";

/** Makes the source. Delayed quotes are those of 15 minutes before the time played, counted in time played. */
export function simulatedSource(market: SimulatedMarket, playback: Playback | null): QuoteSource {
  return {
    ...market,
    quotes: (keys, { now, delayed }) => {
      const playedMs = playback ? dateOf(playedAt(playback, now)).getTime() : now.getTime();
      const at = new Date(playedMs - ((delayed ?? DELAYED_DEFAULT) ? DELAY_MS : 0));
      return keys.map((key) => market.quote(key, at));
    },
  };
}
