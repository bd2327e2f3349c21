/** The columns of the watch table, and which rows stand in it, in which order. Pure. */
import type { QuoteColumn } from "../../api/quoteTable.ts";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { pricePlaces } from "../../../ground/figures.ts";

export type WatchColumn = {
  key: string;
  name: string;
  /** What rows are ordered by; null sorts last. */
  by: (row: QuoteRow) => number | string | null;
  text?: boolean;
};

const figure = (key: Exclude<QuoteColumn, "description">, name: string): WatchColumn => ({
  key,
  name,
  by: (row) => (row[key] === null ? null : Number(row[key])),
});

const words = (key: "instrument" | "description" | "source", name: string): WatchColumn => ({
  key,
  name,
  text: true,
  by: (row) => row[key] && sortText(row[key]),
});

const COLUMNS: readonly WatchColumn[] = [
  words("instrument", "Instrument"),
  figure("last", "Last"),
  figure("change", "Change"),
  figure("pctChange", "%"),
  figure("bid", "Bid"),
  figure("ask", "Ask"),
  figure("bidSize", "Bid size"),
  figure("askSize", "Ask size"),
  figure("spread", "Spread"),
  figure("volume", "Volume"),
  figure("openInterest", "Open interest"),
  figure("delta", "Delta"),
  { key: "age", name: "Age", by: ({ quotedAt, observedAt }) => -Date.parse(quotedAt ?? observedAt) },
  words("description", "Description"),
  words("source", "Source"),
];

const OF_OPTIONS = ["bidSize", "askSize", "openInterest", "delta"] as const;

/** What the columns show of a quote. */
export const ASKED: readonly QuoteColumn[] = [
  ...(["last", "change", "pctChange", "bid", "ask", "spread", "volume"] as const),
  ...OF_OPTIONS,
  ...(["quotedAt", "stillSince", "description"] as const),
];

/** @param kind as `matching` takes it @param areMixed whether each row says where it comes from */
export function columnsOf(kind: string, areMixed: boolean): readonly WatchColumn[] {
  const left: readonly string[] = kind === "options" ? ["description"] : OF_OPTIONS;
  return COLUMNS.filter(({ key }) => !left.includes(key) && (areMixed || key !== "source"));
}

/** Rows that have each word of a search. @param kind `securities`, `options`; another text: both */
export function matching(rows: readonly QuoteRow[], search: string, kind: string): readonly QuoteRow[] {
  const typed = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ instrument, description, source, optionType }) => {
    if (kind === (optionType === null ? "options" : "securities")) return false;
    const text = `${instrument} ${description ?? ""} ${source}`.toLowerCase();
    return typed.every((word) => text.includes(word));
  });
}

/**
 * A text that sorts as its signs do where names are ordered as people do: numbers by their value, capitals beside small
 * letters. A collator would compare a hundred times slower, and rows are sorted with each answer.
 */
export function sortText(name: string): string {
  return name.toLowerCase().replace(/0*(\d+)/g, (_, digits: string) => {
    // Between the signs and the letters: a longer number is greater, and a number is greater than `:`, `.` and `-`.
    return String.fromCharCode(0x3a + Math.min(digits.length, 0x26)) + digits;
  });
}

/** @param sort key of a column, `-` before it: downwards; another text leaves the rows as they are */
export function ordered(rows: readonly QuoteRow[], sort: string): readonly QuoteRow[] {
  const column = COLUMNS.find(({ key }) => key === sort.replace("-", ""));
  if (!column) return rows;
  const up = sort.startsWith("-") ? -1 : 1;
  const keyed = rows.map((row) => ({ row, by: column.by(row) }));
  keyed.sort(({ by: x }, { by: y }) => {
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return x < y ? -up : x > y ? up : 0;
  });
  return keyed.map(({ row }) => row);
}

/** Decimals of all prices of a row: its instrument's. */
export function placesOfRow({ last, change, bid, ask, spread }: QuoteRow): number {
  return pricePlaces([last, change, bid, ask, spread]);
}
