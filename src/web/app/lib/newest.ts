/** What all views share, and what keeps it up to date: the Now view, whether it may be believed, the quotes that a view wants, a newer page. */
import { computed, signal } from "@preact/signals";
import type { NowView, PageFacts } from "../../api/types.ts";
import { AWAY, ApiProblem, ask } from "./api.ts";
import { sight, note, watchLine } from "./pageLine.ts";
import { troubles, askAgain, type LoadState, useNews } from "./useApi.ts";
import { useMemo, useRef } from "preact/hooks";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { type QuoteTable, rowsOf, seriesKey } from "../../api/quoteTable.ts";
import { setServerTime } from "./pageClock.ts";

export const now = signal<NowView | null>(null);

/** What the page's frame has; null until the first answer. */
export const page = computed(() => now.value?.page ?? null);

/** What is wrong with the whole page; null when all is well. */
export const trouble = computed(() =>
  sight.value === "away" ? AWAY : ([...troubles.value.values()][0] ?? null),
);

/** Whether numbers may be old: the server is not heard, or rows cannot be read. Then nothing is called well. */
export const isOld = computed(
  () => sight.value === "stale" || sight.value === "away" || troubles.value.size > 0,
);

/** Whether anything of the archive, or the market that is polled, is made up. */
export const simulated = computed(() => page.value?.simulated === true);

/** Whether the archive has quotes of several sources: then a view whose rows are all of one says of which. */
export const several = computed(() => page.value?.mixed === true);

/** Version of the server whose page is newer than this one; null: none is. */
export const newer = signal<string | null>(null);

/** Long enough to be read, ms. */
const TOLD_MS = 3_000;

const OWN = /[^/]+$/.exec(document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "")?.[0];

function reloadWhenNewer({ script, version }: PageFacts): void {
  if (script === null || OWN === undefined || script === OWN) return;
  if (newer.value === null) setTimeout(tryToReload, TOLD_MS);
  newer.value = version;
}

function tryToReload(): void {
  const isTyping = document.activeElement?.closest("input:not([type=range]), textarea, select");
  if (isTyping) setTimeout(tryToReload, TOLD_MS);
  else location.reload();
}

/** Keys of the quotes that were new when the view last asked. */
export const changed = signal<ReadonlySet<string>>(new Set());

let end: (() => void) | null = null;

/** Begins to ask for the Now view, or begins anew at once, as after a login. */
export function startFeed(): void {
  if (end === null) watchLine();
  end?.();
  end = askAgain(async (abort) => {
    try {
      const view = await ask<NowView>("api/now", {}, abort);
      note("heard");
      now.value = view;
      setServerTime(view.at);
      reloadWhenNewer(view.page);
    } catch (error) {
      if (!(error instanceof ApiProblem) && !abort.aborted) throw error;
    }
  });
}

/** New rows in the place of those before them; what is new altogether comes last, until all is asked for again. */
function mergeQuotes(known: QuoteTable, news: QuoteTable): QuoteTable {
  const key = ([instrument, , source, delayed]: QuoteTable["rows"][number]): string =>
    `${instrument}/${source}/${delayed}`;
  const ofNews = new Map(news.rows.map((row) => [key(row), row]));
  const rows = known.rows.map((row) => {
    const found = ofNews.get(key(row));
    ofNews.delete(key(row));
    return found && found[OBSERVED_AT] > row[OBSERVED_AT] ? found : row;
  });
  return { ...known, sources: { ...known.sources, ...news.sources }, rows: [...rows, ...ofNews.values()] };
}

/** The place of the receive time in a row. */
const OBSERVED_AT = 4;

/**
 * Quotes in the server's order: securities before options.
 *
 * @param query as the route takes it; null: none is wanted
 * @returns rows null until they are known; columns that were not asked for are null
 */
export function useQuotes(
  query: { names?: string; columns?: string } | null,
): LoadState<readonly QuoteRow[]> {
  const { data, ...state } = useNews<QuoteTable>("api/quotes", query, mergeQuotes);
  const before = useRef<ReadonlyMap<string, string>>(new Map());
  const rows = useMemo(() => {
    if (data === null) return null;
    const rowsNow = rowsOf(data);
    const fresh = rowsNow.filter((row) => {
      const old = before.current.get(seriesKey(row));
      return old !== undefined && old < row.observedAt;
    });
    if (fresh.length > 0) changed.value = new Set(fresh.map(seriesKey));
    before.current = new Map(rowsNow.map((row) => [seriesKey(row), row.observedAt]));
    return rowsNow;
  }, [data]);
  return { ...state, data: rows };
}
