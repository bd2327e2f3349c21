/** A service that makes faults on purpose: latency, refusals, cut bodies, other orders, clocks that are off. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../src/ground/clock.ts";
import { SOURCE_HEADER, send, setDate, setLimitHeaders, XML_TYPE } from "../../src/serve/answers.ts";
import type { QuoteServiceOptions } from "../../src/serve/quoteService.ts";
import { chance, fork } from "../../src/serve/simulated/hash.ts";
import { writeDocument, writeErrorDocument } from "../../src/services/reference/writeDocument.ts";

/** Ways in which a body arrives incomplete. */
const TRUNCATIONS = ["truncate-silent", "truncate-early", "truncate-open", "truncate-length"] as const;
type Truncation = (typeof TRUNCATIONS)[number];

/** Faults of a share of the calls, in the order of drawing: the first that is drawn is made. */
export const CHANCE_FAULTS = ["429", "drop", "500", "html", "truncate", ...TRUNCATIONS] as const;
type ChanceFault = (typeof CHANCE_FAULTS)[number];

/** Shares are from 0 to 1. */
type FaultConfig = {
  latencyMs: { from: number; to: number };
  shares: Readonly<Record<ChanceFault, number>>;
  reorder: number;
  skewMs: number;
  headerSkewMs: number;
};

type Fault = {
  latencyMs: number;
  /** Null: none. */
  kind: Exclude<ChanceFault, "truncate"> | null;
  /** How much of a cut body is sent, 0 to 1. */
  sentShare: number;
  /** The seed of another order of the instruments; null: they stay in order. */
  shuffle: number | null;
};

/** Purposes of the seeds, see `fork`; CHANCE_FAULTS have theirs from 10 on. */
const LATENCY = 1;
const SENT = 2;
const WAY = 3;
const REORDER = 4;
const ORDER = 5;
const FIRST_SHARE = 10;

/** The fault of a call, by its number from 0. */
export function decideFault(config: FaultConfig, seed: number, call: number): Fault {
  const ofCall = fork(seed, call);
  const draw = (purpose: number): number => chance(ofCall, purpose);
  const { from, to } = config.latencyMs;
  const drawn = CHANCE_FAULTS.find((name, place) => draw(FIRST_SHARE + place) < config.shares[name]) ?? null;
  return {
    latencyMs: Math.round(from + (to - from) * draw(LATENCY)),
    kind: drawn === "truncate" ? wayOf(draw(WAY)) : drawn,
    sentShare: draw(SENT),
    shuffle: draw(REORDER) < config.reorder ? fork(ofCall, ORDER) : null,
  };
}

function wayOf(drawn: number): Truncation {
  return TRUNCATIONS[Math.floor(drawn * TRUNCATIONS.length)] ?? "truncate-silent";
}

/** The items in another order (Fisher and Yates); two or more items never stay in order. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(chance(seed, last) * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  const isSame = result.every((item, place) => item === items[place]);
  return isSame ? [...result.slice(1), ...result.slice(0, 1)] : result;
}

/**
 * What a quote service takes in order to make faults.
 *
 * @param options.seed the same seed makes the same faults, call by call
 */
export function faultyAnswers(
  config: FaultConfig,
  { seed, clock }: { seed: number; clock: Clock },
): Required<Pick<QuoteServiceOptions, "clock" | "answerQuotes">> {
  const skewed: Clock = { ...clock, now: () => new Date(clock.now().getTime() + config.skewMs) };
  let calls = 0;
  return {
    clock: skewed,
    answerQuotes:
      ({ source, newId, fail, useUp, outcomeOf }) =>
      async (call) => {
        const { response, key, headers } = call;
        skewHeaders(response, skewed, config.headerSkewMs);
        const fault = decideFault(config, seed, calls++);
        if (fault.latencyMs > 0) await clock.sleep(fault.latencyMs);
        if (fault.kind === "429") return useUp(key, response);
        const outcome = await outcomeOf(call);
        setDate(response, skewed.now());
        setLimitHeaders(response, headers);
        if ("problem" in outcome) return fail(response, outcome.status, outcome.problem);
        response.setHeader(SOURCE_HEADER, source.name);
        const instruments = fault.shuffle === null ? outcome : shuffled(outcome, fault.shuffle);
        sendFaulty(response, writeDocument({ id: newId(), instruments }), fault);
      },
  };
}

function skewHeaders(response: ServerResponse, clock: Clock, skewMs: number): void {
  if (skewMs === 0) return;
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    response.setHeader("Date", new Date(clock.now().getTime() + skewMs).toUTCString());
    const expire = Number(response.getHeader("X-RateLimit-Expire"));
    response.setHeader("X-RateLimit-Expire", String(Math.round(expire + skewMs / 1_000)));
    return writeHead(...args);
  };
}

function sendFaulty(response: ServerResponse, xml: string, fault: Fault): void {
  switch (fault.kind) {
    case null:
    case "429":
      return send(response, { status: 200, body: xml });
    case "500":
      return send(response, { status: 500, body: writeErrorDocument("", "the service failed") });
    case "html":
      return send(response, { status: 200, type: "text/html; charset=UTF-8", body: HTML_PAGE });
    case "drop":
      // Closes the connection without an answer.
      response.socket?.destroy();
      return;
    default:
      response.setHeader("Content-Type", XML_TYPE);
      sendTruncated(response, xml, { sentShare: fault.sentShare, way: fault.kind });
  }
}

/** A page such as a proxy sends in place of an answer. */
const HTML_PAGE =
  "<!DOCTYPE html>\n<html><head><title>Service unavailable</title></head><body><h1>Please try again later</h1></body></html>\n";

/** Sends an answer with status 200 and a truncated body; the caller has set its headers. */
function sendTruncated(
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

/** @param text such as `latency=200ms..2s,429=5%,reorder` */
export function readFaults(text: string): FaultConfig {
  const values = new Map(
    text.split(",").map((entry) => [entry.split("=")[0] ?? "", entry.split("=")[1] ?? ""]),
  );
  const read = <T>(name: string, none: T, reader: (value: string) => T | null): T => {
    const value = values.get(name);
    values.delete(name);
    if (value === undefined) return none;
    const result = reader(value);
    if (result === null) throw new Error(`${name} cannot be "${value}"`);
    return result;
  };
  const config: FaultConfig = {
    latencyMs: read("latency", { from: 0, to: 0 }, readRange),
    shares: Object.fromEntries(CHANCE_FAULTS.map((name) => [name, read(name, 0, readShare)])) as Record<
      ChanceFault,
      number
    >,
    reorder: read("reorder", 0, (value) => (value === "" ? 1 : readShare(value))),
    skewMs: read("skew", 0, readSkew),
    headerSkewMs: read("header-skew", 0, readSkew),
  };
  if (values.size > 0) throw new Error(`there is no fault ${[...values.keys()].join(", ")}`);
  return config;
}

/** `5%` or `0.05`. */
function readShare(value: string): number | null {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(value);
  const share = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1);
  return match && share <= 1 ? share : null;
}

/** `200ms..2s`, or one duration. */
function readRange(value: string): { from: number; to: number } | null {
  const [from = null, to = from, ...more] = value.split("..").map(readDuration);
  if (from === null || to === null || more.length > 0 || from > to) return null;
  return { from, to };
}

function readSkew(value: string): number | null {
  const sign = value.startsWith("-") ? -1 : 1;
  const skewMs = readDuration(value.replace(/^[+-]/, ""));
  return skewMs === null ? null : sign * skewMs;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `200ms`, `2s`, `1.5m`, as ms; null for anything else. */
function readDuration(text: string): number | null {
  const match = /^(\d{1,8}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text.trim());
  return match ? Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0) : null;
}
