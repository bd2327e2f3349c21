/** What becomes of one call: a pure function of the configuration, the seed and the call's number. */
import { chance, fork } from "../simulated/hash.ts";
import { CHANCE_FAULTS, type ChanceFault, type FaultConfig, TRUNCATIONS, type Truncation } from "./faults.ts";

/** The fault of one call. */
export type Fault = {
  latencyMs: number;
  /** What is made of the answer; null: nothing. */
  kind: Exclude<ChanceFault, "truncate"> | null;
  /** How much of the body is kept when it is cut, as a share, 0 to 1. */
  keep: number;
  /** What the order of the instruments is drawn by; null: they stay in order. */
  shuffle: number | null;
};

/** Purposes of the seeds, see `fork`; faults have theirs from 10 on, in the order of the table. */
const LATENCY = 1;
const KEEP = 2;
const WAY = 3;
const REORDER = 4;
const ORDER = 5;
const FIRST_SHARE = 10;

/** The fault of the call of a number, counted from 0: the same seed and number have the same fault. */
export function decideFault(config: FaultConfig, seed: number, call: number): Fault {
  const ofCall = fork(seed, call);
  const draw = (purpose: number): number => chance(ofCall, purpose);
  const { from, to } = config.latencyMs;
  const drawn = CHANCE_FAULTS.find((name, place) => draw(FIRST_SHARE + place) < config.shares[name]) ?? null;
  return {
    latencyMs: Math.round(from + (to - from) * draw(LATENCY)),
    kind: drawn === "truncate" ? wayOf(draw(WAY)) : drawn,
    keep: draw(KEEP),
    shuffle: draw(REORDER) < config.reorder ? fork(ofCall, ORDER) : null,
  };
}

function wayOf(drawn: number): Truncation {
  return TRUNCATIONS[Math.floor(drawn * TRUNCATIONS.length)] ?? "truncate-silent";
}

/** The same items in another order (Fisher and Yates), never the one they came in where there are two or more. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(chance(seed, last) * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  const isSame = result.every((item, place) => item === items[place]);
  return isSame ? [...result.slice(1), ...result.slice(0, 1)] : result;
}
