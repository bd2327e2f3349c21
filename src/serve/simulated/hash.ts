/**
 * Chance without state: every random number of the simulated market is a hash of what it is for, so any
 * instant can be evaluated without walking through the time before it.
 */

/** A 32-bit seed made of a text (FNV-1a, then scattered). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return scatter(hash);
}

/** A seed of its own for one purpose, so that two uses of the same seed are independent. */
export function fork(seed: number, purpose: number): number {
  return scatter(seed ^ Math.imul(purpose + 1, 0x9e3779b1));
}

/** A number in [0, 1), always the same for the same seed and index (a whole number). */
export function chance(seed: number, index: number): number {
  return (scatter(seed ^ Math.imul(index, 0x85ebca6b)) >>> 0) / 2 ** 32;
}

/** Value noise: a smooth curve in [-1, 1] through one random value per whole number. */
export function noise(seed: number, x: number): number {
  const cell = Math.floor(x);
  const along = x - cell;
  const from = 2 * chance(seed, cell) - 1;
  if (along === 0) return from;
  const to = 2 * chance(seed, cell + 1) - 1;
  return from + (to - from) * along * along * (3 - 2 * along);
}

/**
 * A sum of value noise at several scales, each with amplitude sqrt(scale): over distances up to the largest
 * scale it spreads as a random walk does, beyond it returns to 0.
 */
export function walk(seed: number, x: number, scales: readonly number[]): number {
  let sum = 0;
  for (const scale of scales) sum += Math.sqrt(scale) * noise(fork(seed, scale), x / scale);
  return sum;
}

/** Spreads every input bit over all output bits (the `lowbias32` constants of Chris Wellons). */
function scatter(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x21f0aaad);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x735a2d97);
  return hash ^ (hash >>> 15);
}
