/** The thin edge of the faults: waits, and writes answers that are wrong on the wire. */
import type { FastifyReply } from "fastify";
import type { Clock } from "../../clock.ts";
import { decideFault, type Fault, shuffled } from "./decide.ts";
import type { FaultConfig, Truncation } from "./faults.ts";

/** Faults to be made by a service. */
export type Faults = {
  /** The service's clock, off by the configured skew. */
  clock: Clock;
  /** The fault of the next call that was admitted; waits for its latency. */
  next: () => Promise<Fault>;
  /** Sets the headers that a skewed clock would give. */
  skewHeaders: (reply: FastifyReply) => void;
  /** Lets no answer wait any longer. */
  close: () => void;
};

/** @param options.seed the same seed makes the same faults, call by call */
export function createFaults(config: FaultConfig, { seed, clock }: { seed: number; clock: Clock }): Faults {
  const closing = new AbortController();
  let calls = 0;
  const skewed: Clock = { ...clock, now: () => new Date(clock.now().getTime() + config.skewMs) };
  return {
    clock: skewed,
    next: async () => {
      const fault = decideFault(config, seed, calls++);
      if (fault.latencyMs > 0) await clock.sleep(fault.latencyMs, closing.signal).catch(() => undefined);
      return fault;
    },
    skewHeaders: ({ raw }) => {
      if (config.skewMs === 0 && config.headerSkewMs === 0) return;
      raw.setHeader("Date", new Date(skewed.now().getTime() + config.headerSkewMs).toUTCString());
      const expire = Number(raw.getHeader("X-RateLimit-Expire"));
      if (expire > 0)
        raw.setHeader("X-RateLimit-Expire", String(Math.round(expire + config.headerSkewMs / 1_000)));
    },
    close: () => closing.abort(),
  };
}

/** The instruments in the order the fault wants them. */
export function inFaultyOrder<T>(items: readonly T[], { shuffle }: Fault): readonly T[] {
  return shuffle === null ? items : shuffled(items, shuffle);
}

/** A page such as a proxy puts in place of an answer. */
export const HTML_PAGE =
  "<!DOCTYPE html>\n<html><head><title>Service unavailable</title></head><body><h1>Please try again later</h1></body></html>\n";

/** Sends the body of an answer with status 200 as one of the truncations; headers must have been set before. */
export function sendTruncated(reply: FastifyReply, xml: string, { keep }: Fault, way: Truncation): void {
  const whole = Buffer.from(xml);
  // At least a byte is missing, and at least one is there.
  const cut = whole.subarray(0, 1 + Math.floor(keep * (whole.length - 2)));
  const { raw } = reply.hijack();
  const end = (): void => void raw.socket?.end();
  switch (way) {
    case "truncate-silent":
      raw.writeHead(200, { "Content-Length": cut.length }).end(cut);
      return;
    case "truncate-early":
      raw.writeHead(200, { "Content-Length": whole.length, Connection: "close" });
      raw.write(cut, end);
      return;
    case "truncate-open":
      // Neither a length nor chunks: the body ends where the connection does (RFC 9112 section 6.3).
      raw.useChunkedEncodingByDefault = false;
      raw.shouldKeepAlive = false;
      raw.writeHead(200, { Connection: "close" });
      raw.write(cut, end);
      return;
    case "truncate-length":
      raw.writeHead(200, { "Content-Length": cut.length, Connection: "close" });
      raw.write(whole, end);
  }
}

/** Closes the connection without an answer. */
export function dropConnection(reply: FastifyReply): void {
  reply.hijack().raw.socket?.destroy();
}
