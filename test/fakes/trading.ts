/** How stocks and contracts of the simulated market trade, beyond their prices: when, and how many contracts are open. */
import { chance, fork, seedOf } from "../../src/serve/simulated/hash.ts";
import type { Moment } from "./hours.ts";

/**
 * How a contract trades. never: it never did. quiet: not in this session. odd: in this session, but only in ways that set no
 * prices, so that open, high and low are absent beside a volume. usual: what is left.
 */
export type Trading = "never" | "quiet" | "odd" | "usual";

const DAY_MS = 86_400_000;

/** The simulated market's steps of stocks, and the blocks at whose beginning contracts trade. */
const STEP_MS = 5_000;
const BLOCK_MS = 300_000;

/** Contracts that change hands in a session in ways that set no prices. */
export const ODD_VOLUME = 25;

/** Far contracts are not looked at apart: any may be one that never traded. @param symbol OCC */
export function tradingByChance(symbol: string): Trading {
  const drawn = chance(seedOf(symbol), 11);
  if (drawn < 0.05) return "never";
  if (drawn < 0.15) return "quiet";
  return drawn < 0.2 ? "odd" : "usual";
}

/** Epoch ms. */
export function stockTradeMs({ tradedAt }: Moment, seed: number): number {
  return before(tradedAt, STEP_MS, fork(seed, 2));
}

/** Epoch ms; 0: never. A contract that is quiet traded some days ago. */
export function contractTradeMs({ tradedAt, state }: Moment, trading: Trading, seed: number): number {
  if (trading === "never") return 0;
  const isToday = trading === "usual" || (trading === "odd" && state !== "before");
  const daysAgo = isToday ? 0 : 1 + Math.floor(20 * chance(seed, 7));
  return before(new Date(tradedAt.getTime() - daysAgo * DAY_MS), BLOCK_MS, fork(seed, 8));
}

/** Less than a second before a step of the market began, epoch ms. */
function before(at: Date, stepMs: number, seed: number): number {
  return Math.floor(at.getTime() / stepMs) * stepMs - 1 - Math.floor(998 * chance(seed, 0));
}

/** When a bid or an ask was made: a full second, epoch ms. @param part any number: another one for each */
export function bookMs(at: Date, seed: number, part: number): number {
  return Math.floor(at.getTime() / STEP_MS) * STEP_MS - 1_000 * Math.floor(4 * chance(seed, part));
}

/** Open interest, of the day before: it changes once a day. */
export function openInterest(at: Date, seed: number): number {
  const day = Math.floor(at.getTime() / DAY_MS);
  return Math.floor(8_000 * chance(seed, 9) ** 4 * (1 + 0.1 * chance(fork(seed, 9), day)));
}
