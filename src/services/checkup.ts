/**
 * A checkup of a service: a few calls, and what their answers say of what is assumed of it. Pure. What is found has no value of the
 * market, no symbol and no secret in it, and no text of the service's.
 */
import type { ResponseRecord } from "../journal/record.ts";
import { type Answer, refusesFeed } from "../quotes/answer.ts";
import type { QuoteCall } from "../quotes/call.ts";
import { readHttpDate } from "../quotes/rateLimit.ts";
import { estimateSkew, SUSPECT_SKEW_MS } from "./clockSkew.ts";

export type Probe = ProbedAnswer & {
  /** Later answers to it: further pages, or the list without a name that was refused. Absent: none. */
  further?: readonly ProbedAnswer[];
};

/** `call`: as the journal keeps it, with the feed that was asked. */
export type ProbedAnswer = { call: QuoteCall; answer: Answer } & Pick<
  ResponseRecord,
  "status" | "headers" | "body" | "requestedAt" | "observedAt"
>;

export const VERDICTS = ["ok", "not_so", "unknown"] as const;

export type Finding = {
  /** A sentence that holds or not. */
  assumption: string;
  verdict: (typeof VERDICTS)[number];
  why: string;
  /** Whether the program cannot do its work unless it holds. */
  needed: boolean;
};

export type Checkup = {
  /** The next call, by the answers so far; null: there are enough, or more would show nothing. At most MOST_CALLS. */
  next: (probed: readonly Probe[], today: string) => QuoteCall | null;
  /** @param isDelayed whether all quotes of the address are known to be delayed; null: each call says which it wants */
  findings: (probed: readonly Probe[], isDelayed: boolean | null) => Finding[];
};

export const MOST_CALLS = 12;

/** A symbol that every service of American quotes knows. */
export const KNOWN = "SPY";

/** Assumed: nothing has this name. */
export const UNKNOWN = "ZZQXZZ";

export const asking = (...symbols: string[]): QuoteCall => ({ form: "symbols", symbols, delayed: false });

type Judgement = readonly [Finding["verdict"], string];

/** @param needed `when it is not so`: what is unknown may be so */
export function finding(
  assumption: string,
  judge: () => Judgement,
  needed: boolean | "when it is not so" = false,
): Finding {
  const [verdict, why] = judge();
  return { assumption, verdict, why, needed: needed === "when it is not so" ? verdict === "not_so" : needed };
}

export const NOT_ASKED = ["unknown", "no call came so far"] as const;

export function acceptedFinding([first]: readonly Probe[]): Finding {
  return finding(
    "The service accepts the credentials",
    () => {
      if (!first) return NOT_ASKED;
      const { answer, status } = first;
      const { outcome } = answer;
      if (outcome === "quotes") return ["ok", `HTTP ${status}`];
      if (refusesFeed(answer)) return ["ok", `HTTP ${status}, which refuses the feed alone`];
      return [outcome === "unauthorized" ? "not_so" : "unknown", `HTTP ${status}, taken as ${outcome}`];
    },
    true,
  );
}

/** @param form what answers are in */
export function readableFinding(form: string, probed: readonly Probe[]): Finding {
  return finding(
    `Answers come as ${form}, and can be read`,
    () => {
      const read = probed.filter(({ answer }) => answer.outcome === "quotes").length;
      const broken = probed.find(({ answer }) => answer.outcome === "malformed");
      const all = `${read} of ${probed.length} answers were whole quotes`;
      if (broken) return ["not_so", `${all}; HTTP ${broken.status} with something else`];
      return [read > 0 ? "ok" : "unknown", all];
    },
    true,
  );
}

/** Whether these headers are in each answer. @param names in lower case */
export function headersFinding(names: readonly string[], probed: readonly Probe[]): Finding {
  return finding(`Each answer has the headers ${names.join(", ")}`, () => {
    if (probed.length === 0) return NOT_ASKED;
    const missing = names.filter((name) => probed.some(({ headers }) => headers[name] === undefined));
    if (missing.length > 0) return ["not_so", `missing in an answer: ${missing.join(", ")}`];
    return ["ok", `in ${probed.length} of ${probed.length} answers`];
  });
}

/** Whether a header names one of these limits. */
export function allowedFinding(
  name: string,
  documented: readonly number[],
  probed: readonly Probe[],
): Finding {
  return finding(`${name} is ${documented.join(" or ")}, as the documentation says`, () => {
    const said = [...new Set(probed.flatMap(({ headers }) => headers[name]?.trim() ?? []))];
    const [first = ""] = said;
    if (said.length !== 1 || !/^\d{1,9}$/.test(first))
      return ["unknown", `${said.length} numbers in the answers`];
    return [documented.includes(Number(first)) ? "ok" : "not_so", `it says ${first}`];
  });
}

/** The time in a header beside the answer's `Date`. @param unitMs of the header's number */
export function expiryFinding(name: string, unitMs: 1 | 1_000, probed: readonly Probe[]): Finding {
  const [unit, other] = unitMs === 1 ? ["milliseconds", "seconds"] : ["seconds", "milliseconds"];
  return finding(`${name} is the end of the window, in ${unit} since 1970`, () => {
    const times = probed.flatMap(({ headers }) => {
      const value = Number(headers[name]?.trim() || NaN);
      const date = readHttpDate(headers["date"]);
      return Number.isFinite(value) && date !== null ? [{ value, date }] : [];
    });
    const fits = (each: number): boolean =>
      times.every(({ value, date }) => Math.abs(value * each - date) < LONGEST_WINDOW_MS);
    if (times.length === 0) return ["unknown", "no answer has it beside a Date"];
    if (fits(unitMs)) {
      const aheadMs = times.map(({ value, date }) => value * unitMs - date);
      return ["ok", `up to ${Math.ceil(Math.max(...aheadMs) / 1_000)} s after Date`];
    }
    const isOther = fits(1_001 - unitMs);
    return ["not_so", isOther ? `it is in ${other}` : `neither in ${unit} nor in ${other} is it near Date`];
  });
}

/** Assumed: no window of a limit is longer than a day. */
const LONGEST_WINDOW_MS = 86_400_000;

/** Whether a count changes by one with each call, as far as the window was the same. @param by which way */
export function countFinding(
  { name, by }: { name: string; by: 1 | -1 },
  expiry: string,
  probed: readonly Probe[],
): Finding {
  return finding(`${name} ${by === 1 ? "rises" : "falls"} by one with each call`, () => {
    const steps = probed.slice(1).flatMap(({ headers }, place) => {
      const before = probed[place]?.headers ?? {};
      const step = by * (Number(headers[name] ?? NaN) - Number(before[name] ?? NaN));
      return headers[expiry] === before[expiry] && Number.isFinite(step) ? [step] : [];
    });
    const right = steps.filter((step) => step === 1).length;
    if (steps.length === 0) return ["unknown", "no two answers of one window have it"];
    if (right === steps.length) return ["ok", `at ${right} of ${steps.length} steps`];
    const more = steps.some((step) => step > 1) ? "; another program may use the account" : "";
    return ["not_so", `at ${right} of ${steps.length} steps${more}`];
  });
}

/** @param isNeeded whether calls are refused where the clock is off; answers without a Date say nothing of that */
export function clockFinding(probed: readonly Probe[], isNeeded: boolean): Finding {
  const skews = probed.flatMap((one) => estimateSkew(one) ?? []);
  const [worst] = skews.sort((one, other) => Math.abs(other) - Math.abs(one));
  return finding(
    `The machine's clock is within ${SUSPECT_SKEW_MS / 1_000} s of the service's`,
    () => {
      if (worst === undefined) return ["unknown", "no answer has a Date that can be compared"];
      const away = `${(Math.abs(worst) / 1_000).toFixed(1)} s ${worst < 0 ? "behind" : "ahead"}`;
      return [Math.abs(worst) > SUSPECT_SKEW_MS ? "not_so" : "ok", `the service's is ${away}`];
    },
    isNeeded && worst !== undefined,
  );
}
