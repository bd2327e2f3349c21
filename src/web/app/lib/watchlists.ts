/** The reader's watchlists, kept in the browser; pages that are open beside each other have the same. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";
import { USUAL } from "./watchColumns.ts";
import { readWatchlists, type Watchlist, writeWatchlists } from "./watchlistFile.ts";

const KEY = "quotekeeper-watchlists";

export const watchlists = signal<readonly Watchlist[]>(stored());

/** Whether the browser keeps them beyond this page. */
export const areKept = signal(true);

/** A list of its own name, with the usual columns. @returns its name */
export function addWatchlist(): string {
  const taken = new Set(watchlists.value.map(({ name }) => name));
  let number = 1;
  while (taken.has(`Watchlist ${number}`)) number++;
  const name = `Watchlist ${number}`;
  set([...watchlists.value, { name, instruments: [], columns: USUAL }]);
  return name;
}

export function changeWatchlist(name: string, changes: Partial<Watchlist>): void {
  set(watchlists.value.map((list) => (list.name === name ? { ...list, ...changes } : list)));
}

export function removeWatchlist(name: string): void {
  set(watchlists.value.filter((list) => list.name !== name));
}

/** Takes lists in; one of a name that is there takes its place. */
export function takeWatchlists(lists: readonly Watchlist[]): void {
  const taken = new Map(lists.map((list) => [list.name, list]));
  const here = watchlists.value.map((list) => taken.get(list.name) ?? list);
  const known = new Set(here.map(({ name }) => name));
  set([...here, ...lists.filter(({ name }) => !known.has(name))]);
}

/** Follows what is changed in another page. */
export function startWatchlists(): void {
  addEventListener("storage", ({ key }) => {
    if (key === KEY || key === null) watchlists.value = stored();
  });
}

function set(lists: readonly Watchlist[]): void {
  watchlists.value = lists;
  areKept.value = keep(KEY, writeWatchlists(lists));
}

function stored(): readonly Watchlist[] {
  const lists = readWatchlists(kept(KEY) ?? "");
  return typeof lists === "string" ? [] : lists;
}
