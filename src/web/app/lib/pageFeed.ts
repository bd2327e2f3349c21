/**
 * What keeps the page up to date: the frame and the Now view for all views, and the quotes that the shown view wants. One
 * stream of events serves them all. It is opened again when something else is wanted, and when the line is lost.
 */
import { effect } from "@preact/signals";
import { joinNames } from "../../api/nameList.ts";
import { QUOTE_COLUMNS, type QuoteColumn, type QuoteTable, rowsOf, seriesKey } from "../../api/quoteTable.ts";
import type { QuoteRow, FoundInstruments } from "../../../archive/ask/dashboardTypes.ts";
import type { ApiError, Meta, NowView, Problem } from "../../api/types.ts";
import { ApiProblem, ask, AWAY, tokenWanted } from "./api.ts";
import { setServerTime } from "./pageClock.ts";
import { comebacks, note, sight, watchLine } from "./pageLine.ts";
import { changed, meta, now, readTrouble } from "./store.ts";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { useApi } from "./useApi.ts";

type Wanted = {
  /** Of some instruments, or of all. */
  names: readonly string[] | "all";
  columns: readonly QuoteColumn[];
  /** Given all of them, by `seriesKey`, whenever any has changed. */
  take: (quotes: ReadonlyMap<string, QuoteRow>) => void;
};

/** `known`: null until they were read; `begun`: whether they are being read for the first time. */
type Following = Wanted & {
  known: ReadonlyMap<string, QuoteRow> | null;
  begun: boolean;
  abort: AbortController;
};

/** How often everything is read anew, ms: rows that arrive late, by import, come in no event. */
const ANEW_MS = 60_000;

const followed = new Set<Following>();
let stream: EventSource | null = null;
let streamed = "";
let opening = 0;
/** Why the server ended the stream; null while it has not. */
let ended: Problem | null = null;

/** Begins: reads, follows, and reads anew from time to time. */
export function startFeed(): void {
  readAndFollow();
  // While the line is lost nothing is asked: what hangs would take the browser's connections.
  setInterval(() => void ((sight.peek() === "live" || ended !== null) && readAll()), ANEW_MS);
  watchLine(open);
  // The events of the time without a stream are lost.
  effect(() => void (comebacks.value > 0 && readAll()));
}

export function readAndFollow(): void {
  void readAll();
  open();
}

/** Follows quotes. @returns how to end it */
function followQuotes(wanted: Wanted): () => void {
  const following = { ...wanted, known: null, begun: false, abort: new AbortController() };
  followed.add(following);
  openSoon();
  return () => {
    following.abort.abort();
    followed.delete(following);
    openSoon();
  };
}

/** Reads it all once. What cannot be read costs itself alone: the marks stay when the quotes cannot be had. */
async function readAll(): Promise<void> {
  const problems = await Promise.all([
    read(ask<Meta>("/api/meta").then((frame) => (meta.value = frame))),
    read(ask<NowView>("/api/now").then(takeNow)),
    ...[...followed].filter(({ begun }) => begun).map(readQuotes),
  ]);
  readTrouble.value = problems.find((problem) => problem !== null) ?? ended;
}

async function readQuotes(of: Following): Promise<Problem | null> {
  const query = { columns: of.columns.join(), ...(of.names !== "all" && { names: joinNames(of.names) }) };
  return read(
    ask<QuoteTable>("/api/quotes", query, of.abort.signal).then((table) => {
      of.known = new Map(rowsOf(table).map((row) => [seriesKey(row), row]));
      of.take(of.known);
    }),
  );
}

/** What went wrong; null also for an answer that no view waits for any more, and where the line tells of it. */
async function read(work: Promise<unknown>): Promise<Problem | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if ((error as Error).name === "AbortError") return null;
    if (!(error instanceof ApiProblem)) throw error;
    return error.problem === AWAY ? null : error.problem;
  }
}

/** What is followed changes many times while a view is left for another. */
function openSoon(): void {
  clearTimeout(opening);
  opening = window.setTimeout(() => {
    if (streamQuery() !== streamed) open();
    else if (stream?.readyState === EventSource.OPEN) readNew();
  }, 0);
}

function streamQuery(): string {
  if (followed.size === 0) return "";
  const wanted = [...followed];
  const names = wanted.some(({ names: each }) => each === "all")
    ? "all"
    : joinNames([...new Set(wanted.flatMap(({ names: each }) => each))].sort());
  const columns = QUOTE_COLUMNS.filter((column) => wanted.some((each) => each.columns.includes(column)));
  return names === "" ? "" : `?${new URLSearchParams({ quotes: names, columns: columns.join() }).toString()}`;
}

/** The browser would open a stream that breaks again by itself, but not one that is silent: the page does both. */
function open(): void {
  stream?.close();
  if (tokenWanted.value) return;
  streamed = streamQuery();
  // One that was ended ends no other, or they would end each other in turn.
  const yields = ended === null ? "" : `${streamed === "" ? "?" : "&"}yields=true`;
  const opened = new EventSource(`/api/events${streamed}${yields}`);
  stream = opened;
  note("opening");
  opened.addEventListener("open", () => {
    ended = null;
    note("answered");
    readNew();
  });
  opened.addEventListener("error", () => {
    const isRefused = opened.readyState === EventSource.CLOSED;
    opened.close();
    note(isRefused && ended !== null ? "ended" : "broke");
    readNew();
    // A stream that is refused does not say why; an answer does.
    if (isRefused) void readAll();
  });
  opened.addEventListener("ended", (event) => {
    const { error } = JSON.parse(event.data as string) as ApiError;
    opened.close();
    if (error.code === "TOKEN_WANTED") return void (tokenWanted.value = true);
    readTrouble.value = ended = error;
    note("ended");
  });
  const on = <T>(event: string, take: (data: T) => void): void =>
    opened.addEventListener(event, ({ data }: MessageEvent<string>) => {
      note("heard");
      take(JSON.parse(data) as T);
    });
  on("now", takeNews);
  on("quotes", takeQuotes);
  on("trouble", () => void readAll());
}

/** Reads quotes that were not read yet: after the stream is there, so that none is stored in between. */
function readNew(): void {
  const unread = [...followed].filter(({ known, begun }) => known === null && !begun);
  for (const each of unread) each.begun = true;
  void Promise.all(unread.map(readQuotes)).then((problems) => {
    const problem = problems.find((each) => each !== null);
    if (problem) readTrouble.value = problem;
  });
}

function takeNow(view: NowView): void {
  now.value = view;
  setServerTime(view.at);
}

/** What could not be read before can be had as soon as the archive answers again. */
function takeNews(view: NowView): void {
  takeNow(view);
  if (readTrouble.value !== null && view.minutes !== null) void readAll();
}

function takeQuotes(table: QuoteTable): void {
  const rows = rowsOf(table);
  const newer = new Set<string>();
  for (const of of followed) {
    if (of.known === null) continue;
    const wanted = of.names === "all" ? null : new Set(of.names.map((name) => name.toUpperCase()));
    const news = rows.filter(
      (row) =>
        (wanted === null || wanted.has(row.instrument.toUpperCase())) &&
        row.observedAt > (of.known?.get(seriesKey(row))?.observedAt ?? ""),
    );
    if (news.length === 0) continue;
    const known = new Map(of.known);
    for (const row of news) {
      known.set(seriesKey(row), row);
      newer.add(seriesKey(row));
    }
    of.known = known;
    of.take(known);
  }
  if (newer.size > 0) changed.value = newer;
}

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
