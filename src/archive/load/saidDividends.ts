/** What the newest rows of the table of dividends say, as a loader has found it: an answer that says the same again needs no question. */
import type { Instant } from "../../clock.ts";
import type { DividendData } from "../../quotes/document.ts";
import { sameText } from "./dividendChanges.ts";

/** More than there are numbers of sources: with it, instrument and source are one number. */
const SOURCES = 2 ** 16;

/** Most series that are remembered: some 20 MB. */
const MOST_SAID = 100_000;

/** What one quote says, and the series that it is of. */
export type SeriesWord = {
  instrumentId: number;
  sourceId: number;
  observedAt: Instant;
  dividend: DividendData;
};

/** A series, an instrument from a source, as one number. */
export function seriesNumber({
  instrumentId,
  sourceId,
}: Pick<SeriesWord, "instrumentId" | "sourceId">): number {
  return instrumentId * SOURCES + sourceId;
}

/** Holds as long as nobody changes the table, which `BEGIN_STORING` tells by its version. */
export class SaidDividends {
  #version = "";
  readonly #said = new Map<number, SeriesWord>();

  /** Forgets what was found in another version of the table. */
  settle(version: string): void {
    if (version !== this.#version) this.#said.clear();
    this.#version = version;
  }

  /** Whether the newest row of a word's series is older and says the same. */
  has(word: SeriesWord): boolean {
    const said = this.#said.get(seriesNumber(word));
    return said !== undefined && said.observedAt <= word.observedAt && sameText(said.dividend, word.dividend);
  }

  /** Remembers a word than which the newest row of its series is older, and says the same. */
  add(word: SeriesWord): void {
    if (this.#said.size >= MOST_SAID) this.#said.clear();
    this.#said.set(seriesNumber(word), word);
  }
}
