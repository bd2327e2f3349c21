/**
 * Turns of the event loop, for a service with many connections: what is the same for all calls that were read in one
 * turn is done once for them, and their answers leave together at its end. Under load this spares a system call, or the
 * waking of another program, for each of them; a single call waits for no more than the rest of its turn.
 */

/** A promise of the end of this turn, the same for all who ask in it. */
export function createTurns(): () => Promise<void> {
  let end: Promise<void> | null = null;
  return () =>
    (end ??= new Promise((resolve) =>
      setImmediate(() => {
        end = null;
        resolve();
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
