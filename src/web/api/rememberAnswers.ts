/** Answers that take long are found out once for all who ask at about the same time. */
import type { Clock } from "../../ground/clock.ts";

const MOST = 20;

/**
 * Asks anew only what nobody has asked in the last `freshMs`. What failed is not kept.
 *
 * @returns takes the question's name, and how to find the answer out
 */
export function rememberAnswers(
  clock: Clock,
  freshMs: number,
): <T>(name: string, find: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, { atMs: number; answer: Promise<unknown> }>();
  return <T>(name: string, find: () => Promise<T>): Promise<T> => {
    const nowMs = clock.monotonicMs();
    for (const [old, { atMs }] of kept) if (nowMs - atMs >= freshMs) kept.delete(old);
    const known = kept.get(name);
    if (known) return known.answer as Promise<T>;
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= MOST) kept.delete(oldest);
    const answer = find();
    kept.set(name, { atMs: nowMs, answer });
    answer.catch(() => kept.get(name)?.answer === answer && kept.delete(name));
    return answer;
  };
}
