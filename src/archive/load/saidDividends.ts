/** What the newest rows of the table of dividends say, as a loader has found it: an answer that says the same again needs no question. */
import type { DividendData } from "../../quotes/document.ts";
import { type Key, seriesNumber } from "../schema/quoteColumns.ts";
import { sameText } from "./dividendChanges.ts";

/** Most series that are remembered: some 30 MB. */
const MOST_SAID = 100_000;

/** What one quote says, and which quote that is. */
export type SeriesWord = Key & { dividend: DividendData };

/** Each word is right as long as nobody changes the table. `BEGIN_STORING` gives the table's version. */
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
    const said = this.#said.get(seriesNumber(word.instrumentId, word.sourceId));
    return said !== undefined && said.observedAt <= word.observedAt && sameText(said.dividend, word.dividend);
  }

  /** Remembers a word than which the newest row of its series is older, and says the same. */
  add(word: SeriesWord): void {
    if (this.#said.size >= MOST_SAID) this.#said.clear();
    this.#said.set(seriesNumber(word.instrumentId, word.sourceId), word);
  }
}
