/**
 * Which faults a service can make on purpose, for the authors of clients, and how they are written:
 * `latency=200ms..2s,429=5%,truncate=2%,500=1%,skew=11s,reorder`. Pure.
 */
import { chance, fork } from "../simulated/hash.ts";
import { cutText } from "../../outsideText.ts";

/** Ways in which a body arrives incomplete. */
const TRUNCATIONS = ["truncate-silent", "truncate-early", "truncate-open", "truncate-length"] as const;
/** One of them. */
export type Truncation = (typeof TRUNCATIONS)[number];

/** Faults that meet a share of the calls, in the order in which they are drawn: the first that is drawn is made. */
export const CHANCE_FAULTS = ["429", "drop", "500", "html", "truncate", ...TRUNCATIONS] as const;
/** One of them. */
type ChanceFault = (typeof CHANCE_FAULTS)[number];

/** Every fault with what it takes and what it does; documentation and messages are made of it. */
export const FAULT_TABLE: Readonly<Record<string, { form: string; does: string }>> = {
  latency: { form: "200ms..2s or 500ms", does: "every answer waits so long" },
  "429": {
    form: "5%",
    does: "the rest of the token's limit is used up: the fault, with its headers, until the limit expires",
  },
  "500": { form: "1%", does: "an error document with status 500" },
  html: { form: "1%", does: "an HTML page with status 200" },
  drop: { form: "1%", does: "the connection is closed without an answer" },
  truncate: { form: "2%", does: "the body is cut anywhere, in one of the four ways below" },
  "truncate-silent": { form: "2%", does: "cut, with a Content-Length that matches what is left" },
  "truncate-early": { form: "2%", does: "cut, with the Content-Length of the whole, then closed" },
  "truncate-open": { form: "2%", does: "cut, without any length, ended by closing the connection" },
  "truncate-length": { form: "2%", does: "whole, with a Content-Length that is too small" },
  reorder: { form: "nothing, or 50%", does: "the instruments come in another order than asked" },
  skew: {
    form: "11s or -11s",
    does: "the service's clock is off: Date, X-RateLimit-Expire and the verified timestamps",
  },
  "header-skew": { form: "11s or -11s", does: "Date and X-RateLimit-Expire alone are off" },
};

/** What to do, how often. Shares are from 0 to 1. */
export type FaultConfig = {
  latencyMs: { from: number; to: number };
  shares: Readonly<Record<ChanceFault, number>>;
  reorder: number;
  skewMs: number;
  headerSkewMs: number;
};

/** The longest latency, and the largest skew. */
const MAX_LATENCY_MS = 600_000;
const MAX_SKEW_MS = 86_400_000;

/** The faults of a text, or all that is wrong with it in words. */
export function parseFaults(
  text: string,
): { ok: true; faults: FaultConfig } | { ok: false; problems: string[] } {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry): [string, string | null] => {
      const divider = entry.indexOf("=");
      return divider < 0 ? [entry, null] : [entry.slice(0, divider).trim(), entry.slice(divider + 1).trim()];
    });
  return faultsOf(entries);
}

/** The same of names and values, as a file has them; null: no value. */
export function faultsOf(
  entries: readonly (readonly [name: string, value: string | null])[],
): ReturnType<typeof parseFaults> {
  const problems: string[] = [];
  const values = new Map<string, string | null>();
  for (const [name, value] of entries) {
    if (!Object.hasOwn(FAULT_TABLE, name)) problems.push(`there is no fault "${cutText(name, 40)}"`);
    else if (values.has(name)) problems.push(`${name} is given twice`);
    values.set(name, value);
  }
  if (entries.length === 0) problems.push("no fault is named");
  const read = <T>(name: string, none: T, reader: (value: string | null) => T | null): T => {
    const value = values.get(name);
    if (value === undefined) return none;
    const result = reader(value);
    if (result === null) problems.push(`${name} takes ${FAULT_TABLE[name]?.form}, not "${value ?? ""}"`);
    return result ?? none;
  };
  const faults: FaultConfig = {
    latencyMs: read("latency", { from: 0, to: 0 }, readRange),
    shares: Object.fromEntries(CHANCE_FAULTS.map((name) => [name, read(name, 0, readShare)])) as Record<
      ChanceFault,
      number
    >,
    reorder: read("reorder", 0, (value) => (value === null ? 1 : readShare(value))),
    skewMs: read("skew", 0, readSkew),
    headerSkewMs: read("header-skew", 0, readSkew),
  };
  return problems.length === 0 ? { ok: true, faults } : { ok: false, problems };
}

/** `5%` or `0.05`. */
function readShare(value: string | null): number | null {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(value ?? "");
  const share = Number(match?.[1]) / (match?.[2] === "%" ? 100 : 1);
  return match && share <= 1 ? share : null;
}

/** `200ms..2s`, or one duration. */
function readRange(value: string | null): { from: number; to: number } | null {
  const [from = null, to = from, ...more] = (value ?? "").split("..").map(readDuration);
  if (from === null || to === null || more.length > 0 || from > to || to > MAX_LATENCY_MS) return null;
  return { from, to };
}

function readSkew(value: string | null): number | null {
  const sign = value?.startsWith("-") ? -1 : 1;
  const skewMs = readDuration((value ?? "").replace(/^[+-]/, ""));
  return skewMs === null || skewMs > MAX_SKEW_MS ? null : sign * skewMs;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `200ms`, `2s`, `1.5m`, as ms; null for anything else. */
function readDuration(text: string): number | null {
  const match = /^(\d{1,8}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text.trim());
  return match ? Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0) : null;
}

// What becomes of one call: a pure function of the configuration, the seed and the call's number.

/** The fault of one call. */
export type Fault = {
  latencyMs: number;
  /** What is made of the answer; null: nothing. */
  kind: Exclude<ChanceFault, "truncate"> | null;
  /** How much of the body is kept when it is cut, as a share, 0 to 1. */
  keep: number;
  /** What the order of the instruments is drawn by; null: they stay in order. */
  shuffle: number | null;
};

/** Purposes of the seeds, see `fork`; faults have theirs from 10 on, in the order of the table. */
const LATENCY = 1;
const KEEP = 2;
const WAY = 3;
const REORDER = 4;
const ORDER = 5;
const FIRST_SHARE = 10;

/** The fault of the call of a number, counted from 0: the same seed and number have the same fault. */
export function decideFault(config: FaultConfig, seed: number, call: number): Fault {
  const ofCall = fork(seed, call);
  const draw = (purpose: number): number => chance(ofCall, purpose);
  const { from, to } = config.latencyMs;
  const drawn = CHANCE_FAULTS.find((name, place) => draw(FIRST_SHARE + place) < config.shares[name]) ?? null;
  return {
    latencyMs: Math.round(from + (to - from) * draw(LATENCY)),
    kind: drawn === "truncate" ? wayOf(draw(WAY)) : drawn,
    keep: draw(KEEP),
    shuffle: draw(REORDER) < config.reorder ? fork(ofCall, ORDER) : null,
  };
}

function wayOf(drawn: number): Truncation {
  return TRUNCATIONS[Math.floor(drawn * TRUNCATIONS.length)] ?? "truncate-silent";
}

/** The same items in another order (Fisher and Yates), never the one they came in where there are two or more. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(chance(seed, last) * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  const isSame = result.every((item, place) => item === items[place]);
  return isSame ? [...result.slice(1), ...result.slice(0, 1)] : result;
}
