/** The newest quotes of instruments, live: one of each source, real-time and delayed ones apart. */
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { QUOTE_COLUMNS, type QuoteColumn } from "../../api/quoteTable.ts";
import type { FoundInstruments, QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { followQuotes } from "./pageFeed.ts";
import { useApi } from "./useApi.ts";

/**
 * Quotes of some instruments in some columns, in the server's order: securities before options.
 *
 * @param names in any case; `all`: of every instrument
 * @returns null until they are known; columns that were not asked for are null
 */
export function useQuotes(
  names: readonly string[] | "all",
  columns: readonly QuoteColumn[],
): readonly QuoteRow[] | null {
  const [quotes, setQuotes] = useState<{ key: string; rows: readonly QuoteRow[] } | null>(null);
  const key = JSON.stringify([names, columns]);
  useLayoutEffect(() => {
    if (names !== "all" && names.length === 0) return setQuotes({ key, rows: [] });
    const take = (known: ReadonlyMap<string, QuoteRow>): void =>
      setQuotes({ key, rows: [...known.values()] });
    return followQuotes({ names, columns, take });
  }, [key]);
  // Other columns of the same rows are on their way: what is shown stays.
  const of = JSON.stringify(names);
  return quotes !== null && quotes.key.startsWith(`[${of},`) ? quotes.rows : null;
}

/**
 * The series of one instrument.
 *
 * @param name as in `AAPL` or `AAPL:2026-12-18:CALL:150`, in any case; the empty text: the first instrument of the archive
 * @returns null until they are known; none where nothing is stored
 */
export function useSeries(name: string): readonly QuoteRow[] | null {
  const first = useApi<FoundInstruments>("/api/instruments", name === "" ? { search: "" } : null);
  const wanted = name === "" ? first.data?.instruments[0]?.instrument : name.toUpperCase();
  const names = useMemo(() => (wanted === undefined ? [] : [wanted]), [wanted]);
  const rows = useQuotes(names, QUOTE_COLUMNS);
  return name === "" && first.data === null ? null : rows;
}
