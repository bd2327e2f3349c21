/** What all views share: the frame, the Now view, and whether they can be had; `pageFeed.ts` keeps them up to date. */
import { computed, signal } from "@preact/signals";
import type { Meta, NowView, Problem, QuoteRow } from "../../api/types.ts";
import { ApiProblem, ask, AWAY } from "./api.ts";
import { comebacks, sight } from "./pageLine.ts";
import { useEffect, useState } from "preact/hooks";

/** What the page is of; null until it is known. */
export const meta = signal<Meta | null>(null);
/** The Now view; null until it is known. */
export const now = signal<NowView | null>(null);
/** Keys of the quotes that the last event brought. */
export const changed = signal<ReadonlySet<string>>(new Set());
/** Why the shared data could not be read when it was last tried; null: it was read. */
export const readTrouble = signal<Problem | null>(null);
/** What is wrong with the whole page; null when all is well. */
export const trouble = computed(() => (sight.value === "away" ? AWAY : readTrouble.value));
/** Whether the numbers that are shown are old. */
export const isOld = computed(() => sight.value === "stale" || sight.value === "away");
/** Whether something may be called well: not by old numbers, nor below a banner that needs a person. */
export const mayBeWell = computed(() => !isOld.value && trouble.value?.person !== true);

/** One series: an instrument, a source, real-time or delayed. */
export function seriesKey({ instrumentId, sourceId, delayed }: QuoteRow): string {
  return `${instrumentId}/${sourceId}/${delayed}`;
}

/** Whether anything of the archive, or the market that is polled, is made up. */
export const simulated = computed(() => meta.value?.simulated === true);

/** Whether the archive has quotes of several sources: then a view whose rows are all of one says of which. */
export const several = computed(() => meta.value?.mixed === true);

// One thing a view reads: loading, there, or not to be had.

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
  const [state, setState] = useState<Loaded<T> & { key: string }>({
    data: null,
    problem: null,
    loading: true,
    key: "",
  });
  const key = query === null ? "" : `${path}?${new URLSearchParams(query).toString()}`;
  const well = readTrouble.value === null;
  useEffect(() => {
    if (query === null) return;
    const abort = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask<T>(path, query, abort.signal).then(
      (data) => setState({ data, problem: null, loading: false, key }),
      (error: unknown) => {
        if (error instanceof ApiProblem)
          setState((before) => ({ ...before, problem: error.problem, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, version, well, comebacks.value]);
  return state;
}
