/** Makes faults: waits, and writes answers that are wrong on the wire. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { decideFault, type Fault, type FaultConfig, shuffled, type Truncation } from "./faults.ts";

export type Faults = {
  /** The service's clock, off by the configured skew. */
  clock: Clock;
  /** The fault of the next admitted call; waits for its latency. */
  next: () => Promise<Fault>;
  /** Sets the headers of an answer as a skewed clock would. */
  skewHeaders: (response: ServerResponse) => void;
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
    skewHeaders: (response) => {
      if (config.skewMs === 0 && config.headerSkewMs === 0) return;
      const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
      response.writeHead = (...args: unknown[]) => {
        response.setHeader("Date", new Date(skewed.now().getTime() + config.headerSkewMs).toUTCString());
        const expire = Number(response.getHeader("X-RateLimit-Expire"));
        if (expire > 0)
          response.setHeader("X-RateLimit-Expire", String(Math.round(expire + config.headerSkewMs / 1_000)));
        return writeHead(...args);
      };
    },
    close: () => closing.abort(),
  };
}

export function inFaultyOrder<T>(items: readonly T[], { shuffle }: Fault): readonly T[] {
  return shuffle === null ? items : shuffled(items, shuffle);
}

/** A page such as a proxy sends in place of an answer. */
export const HTML_PAGE =
  "<!DOCTYPE html>\n<html><head><title>Service unavailable</title></head><body><h1>Please try again later</h1></body></html>\n";

/** Sends an answer with status 200 and a truncated body; the caller has set its headers. */
export function sendTruncated(
  response: ServerResponse,
  xml: string,
  { sentShare, way }: Pick<Fault, "sentShare"> & { way: Truncation },
): void {
  const whole = Buffer.from(xml);
  // At least one byte is missing, and at least one is sent.
  const cut = whole.subarray(0, 1 + Math.floor(sentShare * (whole.length - 2)));
  const end = (): void => void response.socket?.end();
  switch (way) {
    case "truncate-silent":
      response.writeHead(200, { "Content-Length": cut.length }).end(cut);
      return;
    case "truncate-early":
      response.writeHead(200, { "Content-Length": whole.length, Connection: "close" });
      response.write(cut, end);
      return;
    case "truncate-open":
      // Neither a length nor chunks: the body ends where the connection does (RFC 9112 section 6.3).
      response.useChunkedEncodingByDefault = false;
      response.shouldKeepAlive = false;
      response.writeHead(200, { Connection: "close" });
      response.write(cut, end);
      return;
    case "truncate-length":
      response.writeHead(200, { "Content-Length": cut.length, Connection: "close" });
      response.write(whole, end);
  }
}
