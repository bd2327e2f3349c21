/**
 * Server-sent events: what changed, to every open page. The archive is asked once for all of them, and only while
 * somebody looks. Events: `now` (a NowView), `quotes` (the rows that are newer), `trouble` (an ApiError).
 */
import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { NowView, QuoteRow } from "./types.ts";

/** How often what changed is looked for, ms. */
const EVERY_MS = 1_000;

/** Most pages that are kept up to date at once. */
const MOST_LISTENERS = 64;

/** A page that does not read has this many bytes waiting before it is let go; it comes back by itself. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** Where the events come from. */
type EventSources = {
  clock: Clock;
  log: Log;
  now: () => Promise<NowView>;
  /** Rows newer than an instant, ISO 8601. */
  quotesSince: (since: string) => Promise<QuoteRow[]>;
};

/** Adds `/api/events`. @returns how to end all streams */
export function addEvents(app: FastifyInstance, sources: EventSources): () => Promise<void> {
  const listeners = new Set<ServerResponse>();
  const { clock, log } = sources;
  const stop = new AbortController();
  let running: Promise<void> | null = null;

  const send = (event: string, data: unknown): void => {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of listeners) {
      if (stream.writableLength > MOST_WAITING_BYTES) stream.destroy();
      else stream.write(text);
    }
  };

  const run = async (): Promise<void> => {
    let since = clock.now().toISOString();
    while (listeners.size > 0 && !stop.signal.aborted) {
      try {
        send("now", await sources.now());
        const quotes = await sources.quotesSince(since);
        since = quotes.reduce((newest, { observedAt }) => (observedAt > newest ? observedAt : newest), since);
        if (quotes.length > 0) send("quotes", quotes);
      } catch (error) {
        log.debug({ err: error }, "the dashboard could not look for news");
        send("trouble", {});
      }
      await clock.sleep(EVERY_MS, stop.signal).catch(() => undefined);
    }
    running = null;
  };

  app.get("/api/events", async (request, reply) => {
    if (listeners.size >= MOST_LISTENERS) return reply.code(503).send();
    reply.hijack();
    const stream = reply.raw;
    stream.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    stream.write("retry: 2000\n\n");
    listeners.add(stream);
    request.raw.on("close", () => listeners.delete(stream));
    stream.on("error", () => listeners.delete(stream));
    running ??= run();
    return reply;
  });

  return async () => {
    stop.abort();
    for (const stream of listeners) stream.end();
    listeners.clear();
    await running;
  };
}
