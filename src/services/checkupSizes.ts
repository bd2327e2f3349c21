/** What a checkup sees of sizes: whether they are shares, round lots or hundreds. Pure. */
import { type Finding, finding, KNOWN, type Probe } from "./checkup.ts";
import { itemsOf } from "./checkupOptions.ts";

/** Shares of a round lot by the price, from the highest on (Regulation NMS, 242.600, in force from 2025-11-03). */
const ROUND_LOTS = [
  [10_000, 1],
  [1_000, 10],
  [250, 40],
  [0, 100],
] as const;

/** Feeds quote round lots: in shares each size is a multiple of one, and in lots or hundreds hardly any is. */
export function sizesFinding(probed: readonly Probe[]): Finding {
  return finding(
    "Sizes of stocks are shares, as they are stored",
    () => {
      const quotes = probed
        .flatMap(itemsOf)
        .filter(({ instrument }) => instrument.symbol === KNOWN && instrument.strike === null);
      const price = Number(quotes.find(({ quote }) => quote.last !== null)?.quote.last ?? 0);
      const [, lot] = ROUND_LOTS.find(([above]) => price > above) ?? [0, 1];
      const sizes = quotes
        .flatMap(({ quote: { extended } }) => [extended.bidSize, extended.askSize])
        .flatMap((size) => (size === null || size === "0" ? [] : [Number(size)]));
      if (sizes.length === 0 || lot === 1) return ["unknown", "no size of a round lot came"];
      const multiples = sizes.filter((size) => size % lot === 0).length;
      const counted = `${multiples} of ${sizes.length} are multiples of a round lot`;
      if (multiples === sizes.length) return ["ok", counted];
      if (!sizes.every((size) => size < lot)) return ["unknown", counted];
      return ["not_so", `${counted}, each is smaller: they are no shares`];
    },
    // Sizes in another unit are stored wrong for good.
    "when it is not so",
  );
}
