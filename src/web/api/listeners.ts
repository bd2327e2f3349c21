/** The open pages that are sent events: how many there may be, which gives way when one more comes, and which has to go. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { QuotekeeperError } from "../../errors.ts";
import { networkOf } from "../guard/tries.ts";
import { problemOf, refusal } from "../live.ts";
import { type EventStream, eventText, openStream } from "./eventStream.ts";
import type { QuoteColumn } from "./quoteTable.ts";
import type { ApiError, QuoteRow } from "./types.ts";

/** Most pages that are kept up to date at once. */
const MOST_LISTENERS = 64;

/** Which quotes a page shows. `names` in capitals, or all of them; null: none. */
export type WantedQuotes = { names: readonly string[] | "all"; columns: readonly QuoteColumn[] } | null;

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
export type Listener = Pick<ListenOptions, "wanted" | "isStillAllowed"> & {
  stream: EventStream;
  key: string;
  held: Map<string, QuoteRow>;
  network: string;
};

/** The open pages, in the order in which they came. */
export type Listeners = {
  all: ReadonlySet<Listener>;
  /**
   * Adds a page. When there are too many, the oldest of the address that has the most is ended.
   *
   * @returns null; or why it is not added: it yields, and there are too many
   */
  add: (raw: ServerResponse, options: ListenOptions) => ApiError | null;
  endRefused: () => void;
  end: () => void;
};

export function createListeners(clock: Clock): Listeners {
  const all = new Set<Listener>();
  const end = (listener: Listener, why?: ApiError): void => {
    all.delete(listener);
    listener.stream.end(why && eventText("ended", why));
  };
  return {
    all,
    add: (raw, options) => {
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
    endRefused: () => {
      for (const listener of all) if (!listener.isStillAllowed()) end(listener, LOGGED_OUT);
    },
    end: () => {
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
