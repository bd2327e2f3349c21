/**
 * Server-sent events: what changed, to every open page. The archive is asked once for all of them, and only while
 * somebody looks; a page says which quotes it shows, and is sent no other. Events: `now` (a NowView), `quotes` (a
 * QuoteTable of the rows that are newer), `trouble` (something could not be read), `ended` (an ApiError: why this side
 * ends the stream).
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { eventText } from "./eventStream.ts";
import { createListeners, type Listener, type Listeners, type WantedQuotes } from "./listeners.ts";
import { seriesKey, tableOf } from "./quoteTable.ts";
import type { NowView, QuoteRow } from "./types.ts";

const EVERY_MS = 1_000;

/** How far back the first look reaches, ms: an answer is stored a little later than it arrives. */
const BACK_MS = 5_000;

type EventSources = {
  clock: Clock;
  log: Log;
  now: () => Promise<NowView>;
  /** Rows newer than an instant, ISO 8601. */
  quotesSince: (since: string) => Promise<QuoteRow[]>;
};

/** Opens streams on the route that `/api/events` is. */
export type Events = {
  /** @returns null; or why there is no stream, see `Listeners` */
  listen: Listeners["add"];
  endRefused: Listeners["endRefused"];
  end: () => Promise<void>;
};

export function createEvents({ clock, log, now, quotesSince }: EventSources): Events {
  const { all: listeners, ...pages } = createListeners(clock);
  const stop = new AbortController();
  let running: Promise<void> | null = null;
  /** Null: nobody wants quotes. */
  let since: string | null = null;
  /** Whether somebody came who may not have what was stored while it came. */
  let newcomer = false;

  const send = (event: string, data: unknown): void => {
    const text = eventText(event, data);
    // Who has too much to read misses it: the next one says the same anew.
    for (const { stream } of listeners) if (stream.hasRoom()) stream.write(text);
  };

  const sendQuotes = async (): Promise<void> => {
    const wanting = [...listeners].filter(({ wanted }) => wanted !== null);
    if (wanting.length === 0) return void (since = null);
    const back = new Date(clock.now().getTime() - BACK_MS).toISOString();
    if (since === null || (newcomer && back < since)) since = back;
    newcomer = false;
    const rows = await quotesSince(since);
    since = rows.reduce((newest, { observedAt }) => (observedAt > newest ? observedAt : newest), since);
    tell(wanting, rows);
  };

  const run = async (): Promise<void> => {
    while (listeners.size > 0 && !stop.signal.aborted) {
      try {
        pages.endRefused();
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
      const refused = pages.add(raw, options);
      if (refused) return refused;
      newcomer = true;
      running ??= run();
      return null;
    },
    endRefused: pages.endRefused,
    end: async () => {
      stop.abort();
      pages.end();
      await running;
    },
  };
}

/** Tells each what it shows of new rows; who shows the same is told the same text. */
function tell(wanting: readonly Listener[], rows: readonly QuoteRow[]): void {
  const texts = new Map<string, Buffer | null>();
  for (const { stream, wanted, key, held } of wanting) {
    const behind = held.size > 0 || !stream.hasRoom();
    if (behind) for (const row of rows) held.set(seriesKey(row), row);
    if (!stream.hasRoom()) continue;
    if (!behind && !texts.has(key)) texts.set(key, quotesText(rows, wanted));
    const text = behind ? quotesText([...held.values()], wanted) : texts.get(key);
    held.clear();
    if (text) stream.write(text);
  }
}

/** Null: none of them is shown. */
function quotesText(rows: readonly QuoteRow[], wanted: WantedQuotes): Buffer | null {
  if (wanted === null) return null;
  const names = wanted.names === "all" ? null : new Set(wanted.names);
  const shown = rows.filter(({ instrument }) => names === null || names.has(instrument.toUpperCase()));
  return shown.length === 0 ? null : eventText("quotes", tableOf(shown, wanted.columns));
}
