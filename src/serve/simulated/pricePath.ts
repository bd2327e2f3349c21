/**
 * The price of one company through time, in whole cents, at any instant in bounded work.
 *
 * A year-long random walk gives each session its close. A session's bar (open, high, low, close) is refined into
 * 288 blocks and a block's bar into 60 steps, by the same rule: the path runs from open to close, touches high and
 * low exactly once each or more, and never leaves them. So a session's high is the highest price it showed, and
 * the close is the last one.
 */
import { chance, fork, noise, walk } from "./hash.ts";
import type { Session } from "./marketDay.ts";
import { rememberedOf } from "../../ground/remembered.ts";

/** Prices of a period, whole cents; low <= open, close <= high. */
type Bar = { open: number; high: number; low: number; close: number };

export type Walker = {
  seed: number;
  /** The price the walk returns to over years, cents. */
  baseCents: number;
  /** Standard deviation of a day's log return, about. */
  dailyVolatility: number;
};

/** Blocks of a session, of 5 minutes on an ordinary day. */
export const BLOCKS = 288;
/** Steps of a block, of 5 seconds. */
export const STEPS = 60;

/** Scales of the walk of closes, days. The largest bounds how far a price strays from its base. */
const CLOSE_SCALES = [1, 4, 16, 64, 256, 1024] as const;

/** Scales of the roughness inside a bar, in parts of it. */
const PATH_SCALES = [1, 4, 16, 64] as const;

/** Purposes of the seeds, see `fork`. */
const CLOSE = 1;
const SHAPE = 2;
const PATH = 3;
const BLOCK = 4;
const STEP = 5;

/** Where in its session an instant lies. */
export type Position = {
  /** 0 to BLOCKS - 1, and 0 to STEPS - 1 within the block. */
  block: number;
  step: number;
  /** Epoch ms at which the step began: the market stands still within a step. */
  stepMs: number;
};

export function positionAt(session: Session, atMs: number): Position {
  const stepLengthMs = (session.endMs - session.startMs) / (BLOCKS * STEPS);
  const index = Math.min(Math.floor((atMs - session.startMs) / stepLengthMs), BLOCKS * STEPS - 1);
  return {
    block: Math.floor(index / STEPS),
    step: index % STEPS,
    stepMs: session.startMs + index * stepLengthMs,
  };
}

/** The last price of a session, cents. The session after it has it as its previous close. */
export function closeOf({ seed, baseCents, dailyVolatility }: Walker, day: number): number {
  return Math.max(
    5,
    Math.round(baseCents * Math.exp(dailyVolatility * walk(fork(seed, CLOSE), day, CLOSE_SCALES))),
  );
}

export function barOfDay(walker: Walker, day: number, previousClose = closeOf(walker, day - 1)): Bar {
  const shape = fork(fork(walker.seed, SHAPE), day);
  const close = closeOf(walker, day);
  const gap = walker.dailyVolatility * 0.25 * (2 * chance(shape, 0) - 1);
  const open = Math.max(1, Math.round(previousClose * Math.exp(gap)));
  const reach = (index: number) =>
    Math.round(close * walker.dailyVolatility * (0.05 + 0.7 * chance(shape, index) ** 2));
  return {
    open,
    close,
    high: Math.max(open, close) + reach(1),
    low: Math.max(1, Math.min(open, close) - reach(2)),
  };
}

/** The prices between the blocks of a session: 0 is its open, BLOCKS its close. */
export function blockPrices(walker: Walker, day: number, bar: Bar): (block: number) => number {
  return pathThrough(bar, BLOCKS, fork(fork(walker.seed, PATH), day));
}

/** How far the blocks of a session were walked: its extremes in all blocks before `block`, and the price at which that one begins. */
type PathExtremes = { day: number; block: number; high: number; low: number; price: number };

/** Remembered, because a session has hundreds of blocks, and who asks again mostly asks for a later one. */
const walkedBy = rememberedOf((_: Walker): PathExtremes => ({
  day: NaN,
  block: 0,
  high: 0,
  low: 0,
  price: 0,
}));

/** A session so far: `last` at a position, and the extremes from the open up to it, cents. */
export function sessionSoFar(
  walker: Walker,
  day: number,
  { block, step }: Pick<Position, "block" | "step">,
): Omit<Bar, "close"> & { last: number } {
  const bar = barOfDay(walker, day);
  const priceAt = blockPrices(walker, day, bar);
  const blockSeed = fork(fork(walker.seed, BLOCK), day);
  const walked = walkedBy(walker);
  if (walked.day !== day || walked.block > block)
    Object.assign(walked, { day, block: 0, high: bar.open, low: bar.open, price: bar.open });
  for (; walked.block < block; walked.block += 1) {
    const to = priceAt(walked.block + 1);
    const part = barOfBlock(bar, walked.price, to, blockSeed, walked.block);
    if (part.high > walked.high) walked.high = part.high;
    if (part.low < walked.low) walked.low = part.low;
    walked.price = to;
  }
  let { high, low } = walked;
  const current = barOfBlock(bar, walked.price, priceAt(block + 1), blockSeed, block);
  const stepPrice = pathThrough(current, STEPS - 1, fork(fork(fork(walker.seed, STEP), day), block));
  let last = walked.price;
  for (let i = 0; i <= step; i++) {
    last = stepPrice(i);
    if (last > high) high = last;
    if (last < low) low = last;
  }
  return { open: bar.open, high, low, last };
}

/** The bar of a block between its two prices; it stays inside the bar of the session. */
// eslint-disable-next-line max-params -- once for each block of a path: an object would cost more than it says
function barOfBlock(session: Bar, open: number, close: number, seed: number, block: number): Bar {
  const reach = 0.06 * (session.high - session.low);
  const high = Math.max(open, close) + Math.round(reach * chance(seed, 2 * block) ** 2);
  const low = Math.min(open, close) - Math.round(reach * chance(seed, 2 * block + 1) ** 2);
  return { open, close, high: Math.min(high, session.high), low: Math.max(low, session.low) };
}

/** A place that a path goes through. */
type Knot = { at: number; price: number; rough: number };

/** A path through a bar in `parts` parts: 0 is the open, `parts` the close; high and low lie somewhere between. */
function pathThrough(bar: Bar, parts: number, seed: number): (part: number) => number {
  const first = 1 + Math.floor(chance(seed, -1) * (parts - 1));
  const shifted = 1 + Math.floor(chance(seed, -2) * (parts - 2));
  const second = shifted >= first ? shifted + 1 : shifted;
  const rough = (part: number) =>
    (walk(seed, part, PATH_SCALES) / Math.sqrt(parts)) * (bar.high - bar.low) * 0.5;
  const extremes = [
    { at: first, price: bar.high },
    { at: second, price: bar.low },
  ].sort((a, b) => a.at - b.at);
  const knots: Knot[] = [{ at: 0, price: bar.open }, ...extremes, { at: parts, price: bar.close }].map(
    (knot) => ({
      ...knot,
      rough: rough(knot.at),
    }),
  );
  return (part) => {
    let [from, to]: (Knot | undefined)[] = [];
    // Without a function for each price: there are hundreds for a quote.
    for (const knot of knots) {
      if (knot.at >= part) {
        to = knot;
        break;
      }
      from = knot;
    }
    if (!to || !from || to.at === part) return (to ?? from ?? { price: bar.close }).price;
    const along = (part - from.at) / (to.at - from.at);
    const detour = rough(part) - from.rough - (to.rough - from.rough) * along;
    return Math.round(reflect(from.price + (to.price - from.price) * along + detour, bar));
  };
}

/** Folds a price that would leave the bar back into it. */
function reflect(price: number, { high, low }: Bar): number {
  const folded = price > high ? 2 * high - price : price < low ? 2 * low - price : price;
  return Math.min(high, Math.max(low, folded));
}

/** The share of a session's volume traded up to and within a position, 0 to 1, never falling. */
export function volumeShare(
  seed: number,
  day: number,
  { block, step }: Pick<Position, "block" | "step">,
): number {
  const jitter = fork(seed, day);
  const upTo = (index: number) =>
    index === 0 || index === BLOCKS ? index : index + 0.9 * chance(jitter, index);
  const from = upTo(block);
  return (from + ((upTo(block + 1) - from) * (step + 1)) / STEPS) / BLOCKS;
}

/** A slow factor about 1 for a company's day, between 1 / e^spread and e^spread. */
export function daily(seed: number, day: number, spread: number): number {
  return Math.exp(spread * noise(seed, day / 1.5));
}
