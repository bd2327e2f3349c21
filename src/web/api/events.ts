/**
 * Server-sent events: what changed, to every open page. The archive is asked once for all of them, and only while
 * somebody looks; a page says which quotes it shows, and is sent no other. Events: `now` (a NowView), `quotes` (a
 * QuoteTable of the rows that are newer), `trouble` (an ApiError).
 */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { packedStream, takesGzip } from "./packing.ts";
import { type QuoteColumn, tableOf } from "./quoteTable.ts";
import type { NowView, QuoteRow } from "./types.ts";

/** How often what changed is looked for, ms. */
const EVERY_MS = 1_000;

/** How far back the first look reaches, ms: an answer is stored a little later than it arrives. */
const BACK_MS = 5_000;

/** Most pages that are kept up to date at once. */
const MOST_LISTENERS = 64;

/** A page that does not read has this many bytes waiting before it is let go; it comes back by itself. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** Which quotes a page shows. `names` in capitals, or all of them; null: none. */
type WantedQuotes = { names: readonly string[] | "all"; columns: readonly QuoteColumn[] } | null;

/** Where the events come from. */
type EventSources = {
  clock: Clock;
  log: Log;
  now: () => Promise<NowView>;
  /** Rows newer than an instant, ISO 8601. */
  quotesSince: (since: string) => Promise<QuoteRow[]>;
};

/** An open page: `wanted` by its text, which pages that show the same have in common. */
type Listener = { raw: ServerResponse; stream: Writable; wanted: WantedQuotes; key: string };

/** Opens streams on the route that `/api/events` is. */
export type Events = {
  /** @returns false: there are too many */
  listen: (raw: ServerResponse, options: ListenOptions) => boolean;
  end: () => Promise<void>;
};

type ListenOptions = { wanted: WantedQuotes; headers: Record<string, string>; accepted: string | undefined };

/** Begins with nobody listening. */
export function createEvents({ clock, log, now, quotesSince }: EventSources): Events {
  const listeners = new Set<Listener>();
  const stop = new AbortController();
  let running: Promise<void> | null = null;
  /** Null: nobody wants quotes. */
  let since: string | null = null;
  /** Whether somebody came who may not have what was stored while it came. */
  let newcomer = false;

  const send = (event: string, data: unknown): void => {
    const text = eventText(event, data);
    for (const listener of listeners) write(listener, text);
  };

  const sendQuotes = async (): Promise<void> => {
    const wanting = [...listeners].filter(({ wanted }) => wanted !== null);
    if (wanting.length === 0) return void (since = null);
    const back = new Date(clock.now().getTime() - BACK_MS).toISOString();
    if (since === null || (newcomer && back < since)) since = back;
    newcomer = false;
    const rows = await quotesSince(since);
    if (rows.length === 0) return;
    since = rows.reduce((newest, { observedAt }) => (observedAt > newest ? observedAt : newest), since);
    tell(wanting, rows);
  };

  const run = async (): Promise<void> => {
    while (listeners.size > 0 && !stop.signal.aborted) {
      try {
        send("now", await now());
        await sendQuotes();
      } catch (error) {
        log.debug({ err: error }, "the dashboard could not look for news");
        send("trouble", {});
      }
      await clock.sleep(EVERY_MS, stop.signal).catch(() => undefined);
    }
    since = null;
    running = null;
  };

  return {
    listen: (raw, options) => {
      if (listeners.size >= MOST_LISTENERS) return false;
      const { wanted } = options;
      const listener = { raw, stream: open(raw, options), wanted, key: JSON.stringify(wanted) };
      newcomer = true;
      listeners.add(listener);
      whenGone(listener, () => listeners.delete(listener));
      running ??= run();
      return true;
    },
    end: async () => {
      stop.abort();
      for (const { stream } of listeners) stream.end();
      listeners.clear();
      await running;
    },
  };
}

function open(raw: ServerResponse, { headers, accepted }: ListenOptions): Writable {
  const packed = takesGzip(accepted) ? packedStream() : null;
  raw.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    ...(packed && { "content-encoding": "gzip" }),
  });
  packed?.pipe(raw);
  const stream = packed ?? raw;
  stream.write("retry: 2000\n\n");
  return stream;
}

function whenGone({ raw, stream }: Listener, forget: () => void): void {
  raw.on("close", () => {
    forget();
    stream.destroy();
  });
  raw.on("error", forget);
}

function write({ raw, stream }: Listener, text: string): void {
  const waiting = raw.writableLength + (stream === raw ? 0 : stream.writableLength);
  if (waiting > MOST_WAITING_BYTES) raw.destroy();
  else stream.write(text);
}

const eventText = (event: string, data: unknown): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Tells each what it shows of new rows; who shows the same is told the same text. */
function tell(wanting: readonly Listener[], rows: readonly QuoteRow[]): void {
  const texts = new Map<string, string | null>();
  for (const listener of wanting) {
    if (!texts.has(listener.key)) texts.set(listener.key, quotesText(rows, listener.wanted));
    const text = texts.get(listener.key);
    if (text) write(listener, text);
  }
}

/** Null: none of them is shown. */
function quotesText(rows: readonly QuoteRow[], wanted: WantedQuotes): string | null {
  if (wanted === null) return null;
  const names = wanted.names === "all" ? null : new Set(wanted.names);
  const shown = rows.filter(({ instrument }) => names === null || names.has(instrument.toUpperCase()));
  return shown.length === 0 ? null : eventText("quotes", tableOf(shown, wanted.columns));
}
