/** Waiting for a condition of the outside world: a process, a server, a file. */
import { setTimeout as delay } from "node:timers/promises";

/** Where the environment of jest (jest-circus/environment.js) and `jest.setTimeout` leave the limit of each test, ms. */
const TEST_LIMIT = Symbol.for("TEST_TIMEOUT_SYMBOL");

/** The limit of a program that no jest runs, ms. */
const PROGRAM_LIMIT_MS = 600_000;

/** Less than the limit of a test, which could not say what was waited for. */
const PART_OF_LIMIT = 0.9;

/**
 * Waits until `look` finds something, however slow the machine is.
 *
 * @param look gives what it found; null or false: not yet
 * @param what is waited for
 * @throws Error naming `what` when it seems to never come, and what `look` throws
 */
export async function until<T>(look: () => Promise<T> | T, what: string): Promise<Exclude<T, null | false>> {
  const startedAtMs = performance.now();
  const limitMs = (globalThis as { [TEST_LIMIT]?: number })[TEST_LIMIT] ?? PROGRAM_LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found as Exclude<T, null | false>;
    if (performance.now() - startedAtMs > PART_OF_LIMIT * limitMs)
      throw new Error(`it does not come: ${what}`);
    await delay(20);
  }
}
