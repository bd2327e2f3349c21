/** Work that is done once for all calls of two turns of the event loop. */

/** Continues a call, with the error of the shared work or null. Must not throw. */
type GoOn = (failed: { error: unknown } | null) => void;

/**
 * Waits for the end of the next turn of the event loop. One turn reads about half of the calls that come at the same time;
 * two turns read most of them, which takes fewer system calls for each. Without further calls the wait is over at once.
 */
function atEndOfNextTurn(work: () => void): void {
  setImmediate(() => setImmediate(work));
}

/**
 * Collects calls until the end of the next turn, does the work that they share once, and then continues all of them. Under
 * load this saves a system call, or waking another program, for each call. Waiting calls are callbacks in a list: promises
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
    if (waiting.push(goOn) === 1) atEndOfNextTurn(end);
  };
}

/** Remembers an answer until the end of the next turn of the event loop. */
export function oncePerTwoTurns<T>(ask: () => T): () => T {
  let known: { answer: T } | null = null;
  return () => {
    if (known) return known.answer;
    const fresh = { answer: ask() };
    known = fresh;
    atEndOfNextTurn(() => {
      known = null;
    });
    return fresh.answer;
  };
}
