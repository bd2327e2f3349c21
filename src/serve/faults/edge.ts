/** The thin edge of the faults: waits, and writes answers that are wrong on the wire. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import {
  decideFault,
  type Fault,
  shuffled,
  FAULT_TABLE,
  type FaultConfig,
  faultsOf,
  parseFaults,
  type Truncation,
} from "./faults.ts";
import { existsSync } from "node:fs";
import { parsePlainYaml } from "../../config/yamlFile.ts";
import { QuotekeeperError } from "../../errors.ts";
import { readTextFileSync } from "../../plainFiles.ts";

/** Faults to be made by a service. */
export type Faults = {
  /** The service's clock, off by the configured skew. */
  clock: Clock;
  /** The fault of the next call that was admitted; waits for its latency. */
  next: () => Promise<Fault>;
  /** Has an answer leave with the headers that a skewed clock would give. */
  skewHeaders: (response: ServerResponse) => void;
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

/** The instruments in the order the fault wants them. */
export function inFaultyOrder<T>(items: readonly T[], { shuffle }: Fault): readonly T[] {
  return shuffle === null ? items : shuffled(items, shuffle);
}

/** A page such as a proxy puts in place of an answer. */
export const HTML_PAGE =
  "<!DOCTYPE html>\n<html><head><title>Service unavailable</title></head><body><h1>Please try again later</h1></body></html>\n";

/** Sends the body of an answer with status 200 as one of the truncations; headers must have been set before. */
export function sendTruncated(
  response: ServerResponse,
  xml: string,
  { keep, way }: Pick<Fault, "keep"> & { way: Truncation },
): void {
  const whole = Buffer.from(xml);
  // At least a byte is missing, and at least one is there.
  const cut = whole.subarray(0, 1 + Math.floor(keep * (whole.length - 2)));
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

/**
 * Reads faults such as `latency=200ms..2s,429=5%,reorder`, or a YAML file with a line for each, `429: 5%`.
 *
 * @throws QuotekeeperError FAULTS_INVALID with every problem, and the faults there are
 */
export function readFaults(textOrFile: string): FaultConfig {
  const isFile = !textOrFile.includes("=") && existsSync(textOrFile);
  const read = isFile ? faultsOf(entriesIn(textOrFile)) : parseFaults(textOrFile);
  if (read.ok) return read.faults;
  const known = Object.entries(FAULT_TABLE).map(([name, { form }]) => `${name} (${form})`);
  throw new QuotekeeperError("FAULTS_INVALID", `${read.problems.join("; ")}. There are: ${known.join(", ")}`);
}

function entriesIn(file: string): [string, string | null][] {
  let content: unknown;
  try {
    content = parsePlainYaml(readTextFileSync(file).text);
  } catch (error) {
    // Without its cause: a parser's own message quotes the file, whatever that is.
    throw new QuotekeeperError(
      "FAULTS_INVALID",
      `${file} cannot be read (${(error as { code: string }).code})`,
    );
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw new QuotekeeperError("FAULTS_INVALID", `${file} is no YAML map of faults`);
  return Object.entries(content).map(([name, value]) => [name, value === "" ? null : String(value)]);
}
