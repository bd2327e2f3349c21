/**
 * What keeps the page up to date: the frame and the Now view for all views, and the quotes that the shown view wants. One
 * stream of events serves them all; it is asked for anew when something else is wanted.
 */
import { joinNames } from "../../api/nameList.ts";
import { QUOTE_COLUMNS, type QuoteColumn, type QuoteTable, rowsOf } from "../../api/quoteTable.ts";
import type { ApiError, Meta, NowView, Problem, QuoteRow } from "../../api/types.ts";
import { ApiProblem, ask, tokenWanted } from "./api.ts";
import { setServerTime } from "./pageClock.ts";
import { changed, connected, meta, now, seriesKey, trouble } from "./store.ts";

/** Which quotes a view shows, and who takes them. */
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

/** After how long a stream that was refused is asked for again, ms. */
const AGAIN_MS = 3_000;

const followed = new Set<Following>();
let stream: EventSource | null = null;
let streamed = "";
let opening = 0;
/** Why the server ended the stream; null while it has not. Until there is room again everything is read anew from time to time. */
let ended: Problem | null = null;

/** Begins: reads, follows, and reads anew from time to time. */
export function startFeed(): void {
  readAndFollow();
  setInterval(() => void readAll(), ANEW_MS);
}

/** Begins again, as after a login. */
export function readAndFollow(): void {
  void readAll();
  open();
}

/** Follows quotes. @returns how to end it */
export function followQuotes(wanted: Wanted): () => void {
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
  trouble.value = problems.find((problem) => problem !== null) ?? ended;
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

/** What went wrong; null also for an answer that nobody waits for any more. */
async function read(work: Promise<unknown>): Promise<Problem | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if ((error as Error).name === "AbortError") return null;
    if (!(error instanceof ApiProblem)) throw error;
    return error.problem;
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

/** What all views want together. */
function streamQuery(): string {
  if (followed.size === 0) return "";
  const wanted = [...followed];
  const names = wanted.some(({ names: each }) => each === "all")
    ? "all"
    : joinNames([...new Set(wanted.flatMap(({ names: each }) => each))].sort());
  const columns = QUOTE_COLUMNS.filter((column) => wanted.some((each) => each.columns.includes(column)));
  return names === "" ? "" : `?${new URLSearchParams({ quotes: names, columns: columns.join() }).toString()}`;
}

/** A stream that breaks is taken up again by the browser. */
function open(): void {
  stream?.close();
  streamed = streamQuery();
  // One that was ended ends no other, or they would end each other in turn.
  const yields = ended === null ? "" : `${streamed === "" ? "?" : "&"}yields=true`;
  const opened = new EventSource(`/api/events${streamed}${yields}`);
  stream = opened;
  opened.addEventListener("open", () => {
    ended = null;
    // What passed while nobody listened comes in no event.
    if (connected.value === "away") void readAll();
    readNew();
    connected.value = "live";
  });
  opened.addEventListener("error", () => {
    connected.value = "away";
    readNew();
    // The browser tries again by itself, unless the server had an answer that is no stream.
    if (opened === stream && opened.readyState === EventSource.CLOSED && !tokenWanted.value)
      setTimeout(() => opened === stream && open(), ended === null ? AGAIN_MS : ANEW_MS);
  });
  opened.addEventListener("ended", (event) => {
    const { error } = JSON.parse(event.data as string) as ApiError;
    opened.close();
    connected.value = "away";
    if (error.code === "TOKEN_WANTED") return void (tokenWanted.value = true);
    trouble.value = ended = error;
    setTimeout(() => opened === stream && open(), ANEW_MS);
  });
  opened.addEventListener("now", (event) => takeNews(JSON.parse(event.data as string) as NowView));
  opened.addEventListener("quotes", (event) => takeQuotes(JSON.parse(event.data as string) as QuoteTable));
  opened.addEventListener("trouble", () => void readAll());
}

/** Reads quotes that were not read yet: after the stream is there, so that none is stored in between. */
function readNew(): void {
  const unread = [...followed].filter(({ known, begun }) => known === null && !begun);
  for (const each of unread) each.begun = true;
  void Promise.all(unread.map(readQuotes)).then((problems) => {
    const problem = problems.find((each) => each !== null);
    if (problem) trouble.value = problem;
  });
}

function takeNow(view: NowView): void {
  now.value = view;
  setServerTime(view.at);
}

/** What could not be read before can be had as soon as the archive answers again. */
function takeNews(view: NowView): void {
  takeNow(view);
  if (trouble.value !== null && view.minutes !== null) void readAll();
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
