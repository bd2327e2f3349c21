/** Ctrl-C while a backfill runs: what is under way is finished, and the next run goes on from there. */
import { type Edges, Interrupted, READER_GONE } from "../../run/edges.ts";

/** Runs `work` with a signal that Ctrl-C aborts; then it throws Interrupted, whatever `work` threw. */
export async function endingAtInterrupt<T>(
  { onInterrupt }: Pick<Edges, "onInterrupt">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const stopListening = onInterrupt((signal) => {
    // Whoever stopped reading the results has not asked for less work.
    if (signal !== READER_GONE) ended.abort(new Interrupted(signal));
  });
  try {
    return await work(ended.signal);
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    stopListening();
  }
}
