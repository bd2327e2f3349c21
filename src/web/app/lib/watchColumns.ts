/** The columns of the watch table, and which rows stand in it, in which order. Pure. */
import type { QuoteColumn } from "../../api/quoteTable.ts";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { pricePlaces } from "../../../figures.ts";

export type WatchColumn = {
  key: string;
  name: string;
  /** What rows are ordered by; null sorts last. */
  by: (row: QuoteRow) => number | string | null;
  /** What of a quote it shows; null: what every row has. */
  of: QuoteColumn | null;
  text?: boolean;
};

const number = (text: string | null): number | null => (text === null ? null : Number(text));

const figure = (key: string, name: string, of: Exclude<QuoteColumn, "description">): WatchColumn => ({
  key,
  name,
  of,
  by: (row) => number(row[of]),
});

const words = (key: string, name: string, by: WatchColumn["by"]): WatchColumn => ({
  key,
  name,
  by,
  of: null,
  text: true,
});

/** The first column, which is always there. */
export const INSTRUMENT = words("instrument", "Instrument", ({ instrument }) => sortText(instrument));

/** Where a row comes from: it stands there where sources are mixed. */
export const SOURCE = words("source", "Source", ({ source }) => source);

/** Those that can be chosen, in the order in which they stand. */
export const COLUMNS: readonly WatchColumn[] = [
  figure("last", "Last", "last"),
  figure("change", "Change", "change"),
  figure("pct", "%", "pctChange"),
  figure("bid", "Bid", "bid"),
  figure("ask", "Ask", "ask"),
  figure("bidSize", "Bid size", "bidSize"),
  figure("askSize", "Ask size", "askSize"),
  figure("spread", "Spread", "spread"),
  figure("volume", "Volume", "volume"),
  figure("delta", "Delta", "delta"),
  figure("openInterest", "Open interest", "openInterest"),
  {
    key: "age",
    name: "Age",
    by: ({ quotedAt, observedAt }) => -Date.parse(quotedAt ?? observedAt),
    of: "quotedAt",
  },
  {
    ...words("description", "Description", ({ description }) => description && sortText(description)),
    of: "description",
  },
];

/** What is shown as long as nobody chooses, by key. */
export const USUAL: readonly string[] = COLUMNS.map(({ key }) => key).filter(
  (key) => !["bidSize", "askSize", "delta", "openInterest"].includes(key),
);

/** The columns that a row's two lines hold on a phone, and their grid areas there. */
export const AREAS: Readonly<Record<string, string>> = {
  last: "1 / 3",
  change: "1 / 4",
  age: "2 / 1",
  source: "2 / 1",
  bid: "2 / 1 / 3 / 3",
  ask: "2 / 3",
  pct: "2 / 4",
};

/** Where a column stands in a row of several lines; `half` of the line, or null: all of it. */
export type FurtherPlace = { line: number; half: 1 | 2 | null };

/** Where each other column stands on a phone, by its key: two side by side below the two lines, a text by itself. */
export function furtherPlaces(columns: readonly WatchColumn[]): Map<string, FurtherPlace> {
  const places = new Map<string, FurtherPlace>();
  const others = columns.filter(({ key }) => !(key in AREAS));
  const figures = others.filter(({ text }) => !text);
  figures.forEach(({ key }, at) =>
    places.set(key, { line: 3 + Math.floor(at / 2), half: at % 2 === 0 ? 1 : 2 }),
  );
  const below = 3 + Math.ceil(figures.length / 2);
  others
    .filter(({ text }) => text)
    .forEach(({ key }, at) => places.set(key, { line: below + at, half: null }));
  return places;
}

function matching(rows: readonly QuoteRow[], search: string, kind: string): readonly QuoteRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && kind === "") return rows;
  return rows.filter((row) => {
    if (kind === "securities" && row.optionType !== null) return false;
    if (kind === "options" && row.optionType === null) return false;
    return words.every((word) => textOf(row).includes(word));
  });
}

/** What rows are searched in, made once a row and not once a letter. */
const texts = new WeakMap<QuoteRow, string>();

function textOf(row: QuoteRow): string {
  const known = texts.get(row);
  if (known !== undefined) return known;
  const text = `${row.instrument} ${row.description ?? ""} ${row.source}`.toLowerCase();
  texts.set(row, text);
  return text;
}

/**
 * A text that sorts as its signs do where names are ordered as people do: numbers by their value, capitals beside small
 * letters. A collator would compare a hundred times slower, and rows are sorted at each event.
 */
export function sortText(name: string): string {
  return name.toLowerCase().replace(/0*(\d+)/g, (_, digits: string) => {
    // Between the signs and the letters: a longer number is greater, and a number is greater than `:`, `.` and `-`.
    return String.fromCharCode(0x3a + Math.min(digits.length, 0x26)) + digits;
  });
}

/** @param sort key of a column, `-` before it: downwards; another text leaves the rows as they are */
export function ordered(rows: readonly QuoteRow[], sort: string): readonly QuoteRow[] {
  const down = sort.startsWith("-");
  const column = [INSTRUMENT, ...COLUMNS, SOURCE].find(({ key }) => key === sort.replace("-", ""));
  if (!column) return rows;
  return rows
    .map((row) => ({ row, by: column.by(row) }))
    .sort(({ by: x }, { by: y }) => {
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      const order = x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    })
    .map(({ row }) => row);
}

/** What was found last, and in what. */
export type Search = { rows: readonly QuoteRow[]; search: string; kind: string; found: readonly QuoteRow[] };

/** As `matching`; of what was found before, where a search only went on. Pure. @param before null: nothing was found yet */
export function searchOn(before: Search | null, asked: Omit<Search, "found">): Search {
  const { rows, search, kind } = asked;
  const goesOn = before?.rows === rows && before.kind === kind && search.startsWith(before.search);
  return { ...asked, found: matching(goesOn ? before.found : rows, search, kind) };
}

/** Rows as a watchlist orders its instruments. */
export function asListed(rows: readonly QuoteRow[], instruments: readonly string[]): readonly QuoteRow[] {
  const places = new Map(instruments.map((name, place) => [name.toUpperCase(), place]));
  const place = ({ instrument }: QuoteRow): number => places.get(instrument.toUpperCase()) ?? Infinity;
  return [...rows].sort((a, b) => place(a) - place(b));
}

/** Decimals of all prices of a row: its instrument's. */
export function placesOfRow({ last, change, bid, ask, spread }: QuoteRow): number {
  return pricePlaces([last, change, bid, ask, spread]);
}
