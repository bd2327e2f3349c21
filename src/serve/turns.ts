/**
 * Turns of the event loop, for a service with many connections: what is the same for all calls that were read in one
 * turn is done once for them, and their answers leave together at its end. Under load this spares a system call, or the
 * waking of another program, for each of them; a single call waits for no more than the rest of its turn.
 */

/**
 * A promise of the end of this turn, the same for all who ask in it.
 *
 * @param first is done at the end of each turn in which somebody asked, before anybody goes on; what it throws meets
 *   all of them
 */
export function createTurns(first?: () => void): () => Promise<void> {
  let end: Promise<void> | null = null;
  return () =>
    (end ??= new Promise((resolve, reject) =>
      setImmediate(() => {
        end = null;
        try {
          first?.();
          resolve();
        } catch (error) {
          reject(error as Error);
        }
      }),
    ));
}

/** A question whose answer holds for the rest of the turn in which it was asked. */
export function oncePerTurn<T>(ask: () => T): () => T {
  let known: { answer: T } | null = null;
  return () => {
    if (known) return known.answer;
    const fresh = { answer: ask() };
    known = fresh;
    setImmediate(() => {
      known = null;
    });
    return fresh.answer;
  };
}
