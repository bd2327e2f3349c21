/** Work that is done once for all calls of two turns of the event loop. */

/** Continues a call, with the error of the shared work or null. Must not throw. */
type GoOn = (failed: { error: unknown } | null) => void;

/**
 * Collects calls until the end of the next turn, does the work that they share once, and then continues all of them. Under
 * load this saves a system call, or waking another program, for each call. One turn reads about half of the calls that come at the same
 * time; two turns read most of them. Without further calls the wait is over at once. Waiting calls are callbacks in a list: promises
 * would need two for each call.
 *
 * @param first the shared work, done before any call continues
 */
export function createTurns(first?: () => void): (goOn: GoOn) => void {
  let waiting: GoOn[] = [];
  const end = (): void => {
    const all = waiting;
    waiting = [];
    let failed: { error: unknown } | null = null;
    try {
      first?.();
    } catch (error) {
      failed = { error };
    }
    for (const goOn of all) goOn(failed);
  };
  return (goOn) => {
    if (waiting.push(goOn) === 1) setImmediate(() => setImmediate(end));
  };
}
