/** The stream of events of one open page: what waits until the page reads is bounded, and a page that reads is never let go. */
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import type { Clock } from "../../clock.ts";
import { packedStream, takesGzip } from "./packing.ts";

/** While so many bytes wait, nothing is added. One event may be larger. */
const ENOUGH_WAITING_BYTES = 4 * 1024 * 1024;

/** A page that reads nothing for so long, ms, while that many bytes wait, is let go; it comes back by itself. */
const STALLED_MS = 60_000;

/** What is handed on at once, bytes: between two of them one sees that the page reads. */
const PIECE_BYTES = 64 * 1024;

/** How long a page has to read the last event of a stream that is ended, ms; then its connection is cut. */
const LAST_EVENT_MS = 5_000;

export type EventStream = {
  /** Whether the page has read enough of what was written. Lets a page go that has read nothing for too long. */
  hasRoom: () => boolean;
  write: (text: Buffer) => void;
  /** @param last what the page is told before its stream ends; default: nothing */
  end: (last?: Buffer) => void;
};

type StreamOptions = {
  headers: Record<string, string>;
  accepted: string | undefined;
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  gone: () => void;
};

export const eventText = (event: string, data: unknown): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

/** Answers with a stream that stays open. */
export function openStream(
  raw: ServerResponse,
  { headers, accepted, clock, gone }: StreamOptions,
): EventStream {
  const packs = takesGzip(accepted);
  // Also what is not packed has a stream before the socket, which takes all that it is given as one piece.
  const stream = packs ? packedStream() : new PassThrough();
  raw.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    ...(packs && { "content-encoding": "gzip" }),
  });
  stream.pipe(raw);
  stream.write("retry: 2000\n\n");
  const closed = new AbortController();
  raw.on("close", () => {
    closed.abort();
    gone();
    stream.destroy();
  });
  raw.on("error", gone);
  let seen = { waiting: 0, atMs: clock.monotonicMs() };
  return {
    hasRoom: () => {
      const waiting = raw.writableLength + stream.writableLength;
      const nowMs = clock.monotonicMs();
      if (waiting < ENOUGH_WAITING_BYTES || waiting !== seen.waiting) seen = { waiting, atMs: nowMs };
      else if (nowMs - seen.atMs > STALLED_MS) raw.destroy();
      return waiting < ENOUGH_WAITING_BYTES;
    },
    write: (text) => {
      // It may have been ended while its news was read.
      if (stream.writableEnded) return;
      for (let at = 0; at < text.length; at += PIECE_BYTES) stream.write(text.subarray(at, at + PIECE_BYTES));
    },
    end: (last) => {
      stream.end(last);
      // A page that does not read would keep its connection for ever.
      const cut = (): void => void raw.destroy();
      clock.sleep(LAST_EVENT_MS, closed.signal).then(cut, cut);
    },
  };
}
