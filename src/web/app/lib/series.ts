/** The series of one instrument: its newest quotes, one of each source, real-time and delayed ones apart. */
import type { QuoteRow } from "../../api/types.ts";
import { quoteList } from "./store.ts";

/**
 * Them, live.
 *
 * @param name as in `AAPL` or `AAPL:2026-12-18:CALL:150`, in any case; the empty text: the first instrument of the archive
 * @returns null until they are known; none where nothing is stored
 */
export function useSeries(name: string): readonly QuoteRow[] | null {
  const rows = quoteList.value;
  if (rows === null) return null;
  const wanted = name === "" ? rows[0]?.instrument : name.toUpperCase();
  return rows.filter(({ instrument }) => instrument.toUpperCase() === wanted);
}
