/** One thing a view reads: loading, there, or not to be had. */
import type { Problem } from "../../api/types.ts";
import { ApiProblem, ask } from "./api.ts";
import { comebacks } from "./pageLine.ts";
import { useEffect, useState } from "preact/hooks";
import { readTrouble } from "./store.ts";

/** `data` stays while it is read anew. */
export type Loaded<T> = { data: T | null; problem: Problem | null; loading: boolean };

/**
 * Reads from the API, again whenever the query changes or `version` does, when the archive can be read again, and when the
 * server is heard again.
 *
 * @param query null: nothing is read
 */
export function useApi<T>(
  path: string,
  query: Record<string, string> | null,
  version: unknown = 0,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ data: null, problem: null, loading: true });
  const key = query === null ? "" : `${path}?${new URLSearchParams(query).toString()}`;
  const well = readTrouble.value === null;
  useEffect(() => {
    if (query === null) return;
    const abort = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask<T>(path, query, abort.signal).then(
      (data) => setState({ data, problem: null, loading: false }),
      (error: unknown) => {
        if (error instanceof ApiProblem)
          setState((before) => ({ ...before, problem: error.problem, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, version, well, comebacks.value]);
  return state;
}
