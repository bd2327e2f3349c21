/**
 * The faults that a service can make on purpose, for authors of clients, and the fault of each call: a function of the
 * configuration, the seed and the call's number. Pure.
 */
import { chance, fork } from "../simulated/hash.ts";

/** Ways in which a body arrives incomplete. */
const TRUNCATIONS = ["truncate-silent", "truncate-early", "truncate-open", "truncate-length"] as const;
export type Truncation = (typeof TRUNCATIONS)[number];

/** Faults of a share of the calls, in the order of drawing: the first that is drawn is made. */
export const CHANCE_FAULTS = ["429", "drop", "500", "html", "truncate", ...TRUNCATIONS] as const;
export type ChanceFault = (typeof CHANCE_FAULTS)[number];

/** Every fault: the form of its value, and what the fault does. Documentation and messages are made from this table. */
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

/** Shares are from 0 to 1. */
export type FaultConfig = {
  latencyMs: { from: number; to: number };
  shares: Readonly<Record<ChanceFault, number>>;
  reorder: number;
  skewMs: number;
  headerSkewMs: number;
};

export type Fault = {
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
