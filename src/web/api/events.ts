/**
 * Server-sent events: what changed, to every open page. The archive is asked once for all of them, and only while
 * somebody looks; a page says which quotes it shows, and is sent no other. Events: `now` (a NowView), `quotes` (a
 * QuoteTable of the rows that are newer), `trouble` (something could not be read), `ended` (an ApiError: why this side
 * ends the stream).
 */
import type { ServerResponse } from "node:http";
import { atMost, type Clock, systemClock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { networkOf } from "../guard/tries.ts";
import { problemOf, refusal } from "../live.ts";
import { type EventStream, eventText, openStream } from "./eventStream.ts";
import { type QuoteColumn, seriesKey, tableOf } from "./quoteTable.ts";
import type { QuoteRow } from "../../archive/ask/dashboardTypes.ts";
import type { ApiError, NowView } from "./types.ts";

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
export type Events = ReturnType<typeof createEvents>;

export function createEvents({ clock, log, now, quotesSince }: EventSources) {
  const { all: listeners, ...pages } = createListeners(clock);
  const stop = new AbortController();
  let [running, asking]: (Promise<void> | null)[] = [null, null];
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
        // A database that does not answer keeps back its quotes alone.
        await atMost(EVERY_MS, (asking ??= sendQuotes().finally(() => (asking = null))), systemClock);
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
    /** @returns null; or why there is no stream: see `add` of the open pages */
    listen: (raw: ServerResponse, options: ListenOptions): ApiError | null => {
      const refused = pages.add(raw, options);
      if (refused) return refused;
      newcomer = true;
      running ??= run();
      return null;
    },
    endRefused: pages.endRefused,
    end: async (): Promise<void> => {
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

/** Most pages that are kept up to date at once. */
const MOST_LISTENERS = 64;

/** Which quotes a page shows. `names` in capitals, or all of them; null: none. */
type WantedQuotes = { names: readonly string[] | "all"; columns: readonly QuoteColumn[] } | null;

type ListenOptions = {
  wanted: WantedQuotes;
  headers: Record<string, string>;
  accepted: string | undefined;
  ip: string;
  /** Whether no other page gives way to it. A page that had to give way comes back so: else pages would end each other in turn. */
  yields: boolean;
  /** Whether it may still be told anything. */
  isStillAllowed: () => boolean;
};

/**
 * An open page. `key`: `wanted` as text, which pages that show the same have in common. `held`: the newest row of each
 * series that came while it had too much to read; it is told them when it has read. `network`: where it came from.
 */
type Listener = Pick<ListenOptions, "wanted" | "isStillAllowed"> & {
  stream: EventStream;
  key: string;
  held: Map<string, QuoteRow>;
  network: string;
};

/** The open pages, in the order in which they came. */
function createListeners(clock: Clock) {
  const all = new Set<Listener>();
  const end = (listener: Listener, why?: ApiError): void => {
    all.delete(listener);
    listener.stream.end(why && eventText("ended", why));
  };
  return {
    all: all as ReadonlySet<Listener>,
    /**
     * Adds a page. When there are too many, the oldest of the address that has the most is ended.
     *
     * @returns null; or why it is not added: it yields, and there are too many
     */
    add: (raw: ServerResponse, options: ListenOptions): ApiError | null => {
      const { wanted, isStillAllowed, yields } = options;
      const network = networkOf(options.ip);
      if (all.size >= MOST_LISTENERS) {
        if (yields) return PAGES_FULL;
        end(oldestOfMost(all, network), PAGES_FULL);
      }
      const stream = openStream(raw, { ...options, clock, gone: () => all.delete(listener) });
      const key = JSON.stringify(wanted);
      const listener: Listener = { stream, wanted, key, held: new Map(), network, isStillAllowed };
      all.add(listener);
      return null;
    },
    endRefused: (): void => {
      for (const listener of all) if (!listener.isStillAllowed()) end(listener, LOGGED_OUT);
    },
    end: (): void => {
      for (const listener of all) end(listener);
    },
  };
}

const PAGES_FULL: ApiError = {
  error: problemOf(
    new QuotekeeperError(
      "PAGES_FULL",
      `more than ${MOST_LISTENERS} pages of the dashboard are open, and this is the oldest of the address that has the most`,
    ),
  ),
};

const LOGGED_OUT = refusal("TOKEN_WANTED", "this login has ended");

/** The oldest page of the address that has the most pages, the new page counted: no page gives way to an address that has more. */
function oldestOfMost(listeners: Iterable<Listener>, coming: string): Listener {
  const counts = new Map([[coming, 1]]);
  for (const { network } of listeners) counts.set(network, (counts.get(network) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const [oldest] = [...listeners].filter(({ network }) => counts.get(network) === most);
  return oldest as Listener;
}
