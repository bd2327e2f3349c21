/** What keeps the page up to date: the Now view for all views, and the quotes that the shown view wants. */
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import {
  joinNames,
  QUOTE_COLUMNS,
  type QuoteColumn,
  type QuoteTable,
  rowsOf,
  seriesKey,
} from "../../api/quoteTable.ts";
import type { NowView } from "../../api/types.ts";
import { ApiProblem, ask } from "./api.ts";
import { reloadWhenNewer } from "./newer.ts";
import { setServerTime } from "./pageClock.ts";
import { note, watchLine } from "./pageLine.ts";
import { now } from "./store.ts";
import { askAgain, type LoadState, useNews } from "./useApi.ts";

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
  const newer = new Map(news.rows.map((row) => [key(row), row]));
  const rows = known.rows.map((row) => {
    const found = newer.get(key(row));
    newer.delete(key(row));
    return found && found[OBSERVED_AT] > row[OBSERVED_AT] ? found : row;
  });
  return { ...known, sources: { ...known.sources, ...news.sources }, rows: [...rows, ...newer.values()] };
}

/** The place of the receive time in a row. */
const OBSERVED_AT = 4;

/**
 * Quotes of some instruments in some columns, in the server's order: securities before options.
 *
 * @param names in any case; `all`: of every instrument; null: none is wanted
 * @returns rows null until they are known; columns that were not asked for are null
 */
export function useQuotes(
  names: readonly string[] | "all" | null,
  columns: readonly QuoteColumn[] = QUOTE_COLUMNS,
): LoadState<readonly QuoteRow[]> {
  const query = names && { columns: columns.join(), ...(names !== "all" && { names: joinNames(names) }) };
  const { data, ...state } = useNews<QuoteTable>("api/quotes", query, mergeQuotes);
  const before = useRef<ReadonlyMap<string, string>>(new Map());
  const rows = useMemo(() => {
    if (data === null) return null;
    const rowsNow = rowsOf(data);
    const newer = rowsNow.filter((row) => {
      const old = before.current.get(seriesKey(row));
      return old !== undefined && old < row.observedAt;
    });
    if (newer.length > 0) changed.value = new Set(newer.map(seriesKey));
    before.current = new Map(rowsNow.map((row) => [seriesKey(row), row.observedAt]));
    return rowsNow;
  }, [data]);
  return { ...state, data: rows };
}
