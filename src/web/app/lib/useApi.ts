/** One thing a view reads, asked for again and again: loading, there, or not to be had. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { News, Problem } from "../../api/types.ts";
import { ApiProblem, ask, tokenWanted } from "./api.ts";
import { pageMs } from "./pageClock.ts";

/** `data` stays while it is read anew. */
export type LoadState<T> = { data: T | null; problem: Problem | null; loading: boolean };

/** How often a view asks while it is seen, and while its tab is not, ms. */
const EVERY_MS = 2_000;
const HIDDEN_MS = 30_000;

/** All of it is asked for so often, ms: what was taken out of the archive, or was put into it by hand, is in no news. */
const WHOLE_MS = 60_000;

/** What could not be read when it was last asked for, by its question: the page tells it above the view. */
export const troubles = signal<ReadonlyMap<string, Problem>>(new Map());

/** Problems of the database and of the server: of a view alone, the view tells. */
const OF_ALL = /^(DATABASE|EMBEDDED|SERVER_SLOW)/;

function tell(key: string, problem: Problem | null): void {
  if (problem === null && !troubles.peek().has(key)) return;
  const others = new Map(troubles.peek());
  others.delete(key);
  if (problem !== null && OF_ALL.test(problem.code)) others.set(key, problem);
  troubles.value = others;
}

/**
 * Asks at once, and again until it is ended: sooner when somebody turns to the page. A question that has waited since before then
 * may be one of a network that is no more, and is put again.
 *
 * @returns how to end it
 */
export function askAgain(once: (abort: AbortSignal) => Promise<void>): () => void {
  const end = new AbortController();
  const { signal: ended } = end;
  let timer = 0;
  let asked: { abort: AbortController; atMs: number } | null = null;
  const turn = (): void => {
    clearTimeout(timer);
    asked?.abort.abort();
    const mine = { abort: new AbortController(), atMs: pageMs() };
    asked = mine;
    void (tokenWanted.peek() ? Promise.resolve() : once(mine.abort.signal)).finally(() => {
      if (asked !== mine || ended.aborted) return;
      asked = null;
      timer = window.setTimeout(turn, document.visibilityState === "hidden" ? HIDDEN_MS : EVERY_MS);
    });
  };
  const wake = (): void => {
    const isNew = asked !== null && pageMs() - asked.atMs < EVERY_MS;
    if (document.visibilityState === "visible" && !isNew) turn();
  };
  for (const event of ["online", "pageshow", "focus"]) addEventListener(event, wake, { signal: ended });
  document.addEventListener("visibilitychange", wake, { signal: ended });
  turn();
  return () => {
    end.abort();
    asked?.abort.abort();
    clearTimeout(timer);
  };
}

/**
 * As `askAgain`. What keeps the view from an answer is told above it, until there is one or nobody asks any more.
 *
 * @param key names the question
 * @param unread is told the same
 */
export function askAndTell(
  key: string,
  once: (abort: AbortSignal) => Promise<void>,
  unread: (problem: Problem) => void = () => undefined,
): () => void {
  const end = askAgain(async (abort) => {
    try {
      await once(abort);
      tell(key, null);
    } catch (error) {
      if (!(error instanceof ApiProblem)) return;
      tell(key, error.problem);
      unread(error.problem);
    }
  });
  return () => {
    end();
    tell(key, null);
  };
}

/**
 * Follows what a route of the API answers.
 *
 * @param query null: nothing is read
 * @param merge puts what is new alone to what was known; null: they do not fit, and all of it is asked for
 */
export function useNews<T>(
  path: string,
  query: Record<string, string> | null,
  merge: (known: T, news: T) => T | null = () => null,
): LoadState<T> {
  const key = query === null ? "" : `${path}?${new URLSearchParams(query).toString()}`;
  const [state, setState] = useState<LoadState<T> & { key: string }>({
    key,
    data: null,
    problem: null,
    loading: true,
  });
  useEffect(() => {
    if (query === null) return;
    let known: { cursor: string; view: T; wholeAtMs: number } | null = null;
    setState((before) => ({ ...before, loading: true }));
    const read = async (abort: AbortSignal): Promise<T> => {
      const before = known !== null && pageMs() - known.wholeAtMs < WHOLE_MS ? known : null;
      const since = before && { since: before.cursor };
      const { cursor, whole, view } = await ask<News<T>>(path, { ...query, ...since }, abort);
      const merged = before === null || whole ? view : view === null ? before.view : merge(before.view, view);
      if (merged === null) {
        known = null;
        return read(abort);
      }
      known = { cursor, view: merged, wholeAtMs: before === null || whole ? pageMs() : before.wholeAtMs };
      return merged;
    };
    return askAndTell(
      key,
      async (abort) => {
        const merged = await read(abort);
        setState((old) =>
          old.data === merged && old.key === key && old.problem === null && !old.loading
            ? old
            : { key, data: merged, problem: null, loading: false },
        );
      },
      (problem) => setState((old) => ({ ...old, key, problem, loading: false })),
    );
  }, [key]);
  return state;
}
