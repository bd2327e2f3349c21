/** Waiting for a condition of the outside world: a process, a server, a file. */
import { setTimeout as delay } from "node:timers/promises";

/** What has not come by then has hung. Less than jest's own limit, which could not say what was waited for. */
const HUNG_AFTER_MS = 540_000;

/**
 * Waits until `look` finds something, however slow the machine is.
 *
 * @param look gives what it found; null or false: not yet
 * @param what is waited for
 * @throws Error naming `what` when it seems to never come, and what `look` throws
 */
export async function until<T>(look: () => Promise<T> | T, what: string): Promise<Exclude<T, null | false>> {
  const startedAtMs = performance.now();
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found as Exclude<T, null | false>;
    if (performance.now() - startedAtMs > HUNG_AFTER_MS) throw new Error(`it does not come: ${what}`);
    await delay(20);
  }
}
