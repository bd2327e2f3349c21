/** The checkup of Tradier: what docs/tradier.md says is not known, as far as eight calls show it. */
import { createCalendar } from "../../market/calendar/tradingCalendar.ts";
import { occSymbol } from "../../market/occ.ts";
import { chainSchema, expandChain } from "../../market/optionChain.ts";
import type { InstrumentQuote, ReadItem } from "../../quotes/document.ts";
import { matchCall } from "../../quotes/match.ts";
import { readHttpDate } from "../../quotes/rateLimit.ts";
import {
  acceptedFinding,
  asking,
  type Checkup,
  clockFinding,
  countFinding,
  expiryFinding,
  type Finding,
  finding,
  headersFinding,
  KNOWN,
  NOT_ASKED,
  type Probed,
  readableFinding,
} from "../checkup.ts";
import { JsonObject, type Json, parsePlainJson } from "../plainJson.ts";
import { LIMITS } from "./tradierLimit.ts";
import { writeTradier } from "./writeTradier.ts";

/** Assumed: nothing has this name. */
const UNKNOWN = "ZZQXZZ";

const [ALLOWED, USED, EXPIRY] = ["x-ratelimit-allowed", "x-ratelimit-used", "x-ratelimit-expiry"] as const;

/** The calls by what they are to show, in their order. The same call thrice shows how calls are counted. */
const CALLS = ["one", "unknown", "options", "expirations", "chain", "one", "one", "long"] as const;

export const TRADIER_CHECKUP: Checkup = {
  next: (probed, today) => {
    const kind = CALLS[probed.length];
    if (kind === undefined || probed.some(({ answer }) => answer.outcome !== "quotes")) return null;
    if (kind === "one") return asking(KNOWN);
    if (kind === "unknown") return asking(KNOWN, UNKNOWN);
    if (kind === "expirations") return { form: "expirations", underlying: KNOWN, delayed: false };
    if (kind === "chain") {
      const expiration = middleDate(probed.at(-1), today);
      return expiration === null ? null : { form: "chain", underlying: KNOWN, expiration, delayed: false };
    }
    const contracts = contractsOf(probed, today);
    if (contracts.length === 0) return null;
    return asking(KNOWN, ...(kind === "long" ? contracts : middleOf(contracts)));
  },
  findings: (probed, isDelayed) => {
    const of = (kind: (typeof CALLS)[number]): Probed | undefined => probed[CALLS.indexOf(kind)];
    return [
      acceptedFinding(probed),
      readableFinding("JSON", probed),
      headersFinding([ALLOWED, USED, "x-ratelimit-available", EXPIRY], probed),
      expiryFinding(EXPIRY, 1, probed),
      allowedFinding(probed, isDelayed === true),
      countFinding(USED, EXPIRY, probed),
      objectFinding(of("one")),
      unmatchedFinding(of("unknown")),
      ...optionFindings(of("options")),
      expirationsFinding(of("expirations")),
      ...chainFindings(of("chain")),
      longFinding(of("long")),
      ageFinding(probed, isDelayed === true),
      clockFinding(probed, false),
    ];
  },
};

type Judged = readonly [Finding["verdict"], string];

/** OCC symbols of contracts around the first answer's last price: of so many that a list of them goes by POST. */
function contractsOf([first]: readonly Probed[], today: string): string[] {
  const last = first && itemsOf(first)[0]?.quote.last;
  if (!last) return [];
  const chain = chainSchema.parse({
    underlying: KNOWN,
    expirations: { next: 6 },
    strikes: { around: "last", percent: 5, step: 5 },
  });
  const facts = { last, listed: null, today, calendar: createCalendar([]) };
  return expandChain(chain, facts)
    .flatMap((asked) => ("strike" in asked ? (occSymbol(asked) ?? []) : []))
    .slice(0, MOST_CONTRACTS);
}

/** Below the list that the program begins with for symbols. */
const MOST_CONTRACTS = 99;

/** Some that are most likely listed: near the price, and not of the first date, which may be today. */
function middleOf(contracts: readonly string[]): string[] {
  const start = Math.floor(contracts.length / 3);
  return contracts.slice(start, start + 12);
}

function expirationsOf(one: Probed | undefined): readonly string[] {
  return one?.answer.outcome === "quotes" ? (one.answer.document.expirations ?? []) : [];
}

/** A listed date that is surely not over; null: there is none. */
function middleDate(one: Probed | undefined, today: string): string | null {
  const ahead = expirationsOf(one).filter((date) => date > today);
  return ahead[Math.floor(ahead.length / 3)] ?? null;
}

function itemsReadOf({ answer }: Probed): readonly ReadItem[] {
  return answer.outcome === "quotes" ? answer.document.items : [];
}

function itemsOf(one: Probed): InstrumentQuote[] {
  return itemsReadOf(one).flatMap((read) => (read.ok ? [read.item] : []));
}

/** The value of `quotes`; null: the answer has none. */
function quotesIn({ answer, body }: Probed): JsonObject | null {
  if (answer.outcome !== "quotes") return null;
  const document = parsePlainJson(body);
  const quotes = document instanceof JsonObject ? document.get("quotes") : undefined;
  return quotes instanceof JsonObject ? quotes : null;
}

function quoteIn(one: Probed): Json | undefined {
  return quotesIn(one)?.get("quote");
}

function allowedFinding(probed: readonly Probed[], isSandbox: boolean): Finding {
  const documented = LIMITS[isSandbox ? "sandbox" : "production"].calls;
  const said = [...new Set(probed.flatMap(({ headers }) => headers[ALLOWED]?.trim() ?? []))];
  const [first = ""] = said;
  const judged = (): Judged => {
    if (said.length !== 1 || !/^\d{1,9}$/.test(first))
      return ["unknown", `${said.length} numbers in the answers`];
    return [Number(first) === documented ? "ok" : "not_so", `it says ${first}`];
  };
  return finding(`${ALLOWED} is ${documented}, as the documentation says`, judged());
}

function objectFinding(one: Probed | undefined): Finding {
  const quote = one && quoteIn(one);
  const judged = (): Judged => {
    if (quote === undefined) return NOT_ASKED;
    if (quote instanceof JsonObject) return ["ok", "it is an object"];
    return Array.isArray(quote)
      ? ["not_so", "it is a list"]
      : ["not_so", "it is neither an object nor a list"];
  };
  return finding("The quote of a single symbol is an object, and no list of one", judged());
}

function unmatchedFinding(one: Probed | undefined): Finding {
  const judged = (): Judged => {
    if (!one || one.answer.outcome !== "quotes") return one ? ["unknown", `HTTP ${one.status}`] : NOT_ASKED;
    const told = itemsOf(one).filter(({ unknownSymbol }) => unknownSymbol).length;
    return told > 0
      ? ["ok", "it is there"]
      : [
          "not_so",
          quotesIn(one)?.get("unmatched_symbols") === undefined ? "it is missing" : "it is of another form",
        ];
  };
  return finding("An unknown symbol stands in unmatched_symbols", judged(), true);
}

function optionFindings(one: Probed | undefined): Finding[] {
  const options = one
    ? itemsOf(one).filter(({ instrument, unknownSymbol }) => instrument.strike !== null && !unknownSymbol)
    : [];
  const greeks = options.filter(({ quote }) => quote.extended.delta !== null).length;
  const none: Judged = one ? ["unknown", "no contract of the list was known"] : NOT_ASKED;
  const count = options.length;
  return [
    finding(
      "Contracts stand in a list beside a stock, by their OCC symbols",
      count > 0 ? ["ok", `${count} of the list were known`] : none,
      true,
    ),
    finding(
      "Contracts come with greeks",
      count === 0 ? none : [greeks > 0 ? "ok" : "not_so", `${greeks} of ${count}`],
    ),
  ];
}

function expirationsFinding(one: Probed | undefined): Finding {
  const dates = expirationsOf(one);
  const inOrder = dates.every((date, place) => place === 0 || date > (dates[place - 1] ?? ""));
  const judged = (): Judged => {
    if (!one) return NOT_ASKED;
    if (dates.length === 0) return ["not_so", `HTTP ${one.status}, no date`];
    return [inOrder ? "ok" : "not_so", `${dates.length} dates`];
  };
  return finding("Expirations are listed, each date once and in order", judged());
}

function chainFindings(one: Probed | undefined): Finding[] {
  const matched = one ? matchCall(one.call, itemsReadOf(one)) : [];
  const stored = matched.flatMap((match) => (match.fate === "stored" ? [match.item] : []));
  const rest = matched.length - stored.length;
  const withInterest = stored.filter(({ quote }) => quote.extended.openInterest !== null).length;
  return [
    finding("A whole expiration comes in one call, and nothing else with it", [
      one === undefined ? "unknown" : stored.length > 0 && rest === 0 ? "ok" : "not_so",
      one === undefined ? NOT_ASKED[1] : `${stored.length} contracts of it, ${rest} others`,
    ]),
    finding(
      "Contracts of a whole expiration come with open interest",
      stored.length === 0
        ? NOT_ASKED
        : [withInterest > 0 ? "ok" : "not_so", `${withInterest} of ${stored.length}`],
    ),
  ];
}

function longFinding(one: Probed | undefined): Finding {
  const judged = (): Judged => {
    if (!one || one.call.form !== "symbols") return NOT_ASKED;
    const { method } = writeTradier(one.call);
    const asked = one.call.symbols.length;
    const what = `${method}, ${asked} symbols, HTTP ${one.status}`;
    if (one.answer.outcome !== "quotes") return ["not_so", `${what}, taken as ${one.answer.outcome}`];
    const told = itemsOf(one).length;
    if (method !== "POST") return ["unknown", `${what}: the list was too short for POST`];
    return [told === asked ? "ok" : "not_so", `${what}, ${told} answered or told as unknown`];
  };
  return finding("A long list goes by POST, and each symbol of it is answered", judged(), true);
}

/** Assumed: real-time quotes of a fund that trades each second are younger, while the market is open. */
const YOUNG_MS = 60_000;

/** Ages of quotes that are 15 minutes late, in ms. */
const LATE_MS = { least: 14 * 60_000, most: 18 * 60_000 };

function ageFinding(probed: readonly Probed[], isDelayed: boolean): Finding {
  const ages = probed.flatMap((one) =>
    itemsOf(one).flatMap(({ quote }) => {
      const atMs = readHttpDate(one.headers["date"]) ?? Date.parse(one.observedAt);
      return quote.quotedAt === null || quote.quotedAt === undefined
        ? []
        : [atMs - Date.parse(quote.quotedAt)];
    }),
  );
  const youngest = Math.min(...ages);
  const judged = (): Judged => {
    if (ages.length === 0) return ["unknown", "no quote says when it was made"];
    const old = `the youngest was ${Math.max(0, Math.round(youngest / 1_000))} s old`;
    if (youngest < YOUNG_MS) return [isDelayed ? "not_so" : "ok", old];
    if (youngest < LATE_MS.least || youngest > LATE_MS.most)
      return ["unknown", `${old}: the market may be closed`];
    return [isDelayed ? "ok" : "not_so", old];
  };
  const verdict = judged();
  return finding(
    isDelayed
      ? "Quotes are 15 minutes late, as they are stored"
      : "Quotes are of real time, as they are stored",
    verdict,
    // Rows that say another time than theirs are wrong for good. A closed market says nothing.
    verdict[0] === "not_so",
  );
}
