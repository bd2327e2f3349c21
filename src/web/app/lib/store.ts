/** What all views share: the frame, the Now view and the newest quotes, kept up to date by the server's events. */
import { computed, signal } from "@preact/signals";
import type { Meta, NowView, Problem, QuoteRow } from "../../api/types.ts";
import { ApiProblem, ask, tokenWanted } from "./api.ts";
import { setServerTime } from "./pageClock.ts";
import { useEffect, useState } from "preact/hooks";

/** What the page is of; null until it is known. */
export const meta = signal<Meta | null>(null);
/** The Now view; null until it is known. */
export const now = signal<NowView | null>(null);
/** By `seriesKey`; null until they are known. */
const quotes = signal<ReadonlyMap<string, QuoteRow> | null>(null);
/** Keys of the quotes that the last event brought. */
export const changed = signal<ReadonlySet<string>>(new Set());
/** Whether events arrive. */
export const connected = signal<"connecting" | "live" | "away">("connecting");
/** Why the shared data could not be read; null when all is well. */
export const trouble = signal<Problem | null>(null);

/** One series: an instrument, a source, real-time or delayed. */
export function seriesKey({ instrumentId, sourceId, delayed }: QuoteRow): string {
  return `${instrumentId}/${sourceId}/${delayed}`;
}

/** The quotes in the server's order, securities before options. */
export const quoteList = computed(() => (quotes.value === null ? null : [...quotes.value.values()]));

/** Whether anything that is shown may be made up: as the server says, or as a quote itself does. */
export const simulated = computed(
  () =>
    meta.value?.simulated === true || quoteList.value?.some(({ source }) => source === "simulated") === true,
);

/** How often everything is read anew, ms: rows that arrive late, by import, come in no event. */
const ANEW_MS = 60_000;

/** After how long a stream that was refused is asked for again, ms. */
const AGAIN_MS = 3_000;

/** Reads it all once. What cannot be read costs itself alone: the marks stay when the quotes cannot be had. */
export async function load(): Promise<void> {
  const problems = await Promise.all([
    read<Meta>("/api/meta", (frame) => (meta.value = frame)),
    read<NowView>("/api/now", takeNow),
    read<QuoteRow[]>("/api/quotes", (rows) => {
      quotes.value = new Map(rows.map((row) => [seriesKey(row), row]));
    }),
  ]);
  trouble.value = problems.find((problem) => problem !== null) ?? null;
}

async function read<T>(path: string, take: (answer: T) => void): Promise<Problem | null> {
  try {
    take(await ask<T>(path));
    return null;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return error.problem;
  }
}

let stream: EventSource | null = null;

/** Follows the server's events; a stream that breaks is taken up again by the browser. */
export function follow(): void {
  stream?.close();
  stream = new EventSource("/api/events");
  stream.addEventListener("open", () => {
    // What passed while nobody listened comes in no event.
    if (connected.value === "away") void load();
    connected.value = "live";
  });
  stream.addEventListener("error", () => {
    connected.value = "away";
    // The browser tries again by itself, unless the server had an answer that is no stream.
    if (stream?.readyState === EventSource.CLOSED && !tokenWanted.value) setTimeout(follow, AGAIN_MS);
  });
  stream.addEventListener("now", (event) => takeNews(JSON.parse(event.data as string) as NowView));
  stream.addEventListener("quotes", (event) => takeQuotes(JSON.parse(event.data as string) as QuoteRow[]));
  stream.addEventListener("trouble", () => void load());
}

/** Begins: reads, follows, and reads anew from time to time. */
export function startStore(): void {
  void load();
  follow();
  setInterval(() => void load(), ANEW_MS);
}

function takeNow(view: NowView): void {
  now.value = view;
  setServerTime(view.at);
}

/** What could not be read before can be had as soon as the archive answers again. */
function takeNews(view: NowView): void {
  takeNow(view);
  if (trouble.value !== null && view.minutes !== null) void load();
}

function takeQuotes(rows: readonly QuoteRow[]): void {
  const known = new Map(quotes.value ?? []);
  for (const row of rows) known.set(seriesKey(row), row);
  quotes.value = known;
  changed.value = new Set(rows.map(seriesKey));
}

// One thing a view reads: loading, there, or not to be had.

/** `data` stays while it is read anew. */
export type Loaded<T> = { data: T | null; problem: Problem | null; loading: boolean };

/**
 * Reads from the API, again whenever the query changes or `version` does, and when the archive can be read again.
 *
 * @param query null: nothing is read
 */
export function useApi<T>(
  path: string,
  query: Record<string, string> | null,
  version: unknown = 0,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { key: string }>({
    ...{ data: null, problem: null, loading: true, key: "" },
  });
  const key = query === null ? "" : `${path}?${new URLSearchParams(query).toString()}`;
  const well = trouble.value === null;
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
  }, [key, version, well]);
  return state;
}
