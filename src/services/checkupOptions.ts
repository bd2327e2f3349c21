/** What a checkup sees of contracts, whole chains and the age of quotes, at services that have them. Pure. */
import { createCalendar } from "../market/calendar/tradingCalendar.ts";
import { occSymbol } from "../market/occ.ts";
import { chainSchema, expandChain } from "../market/optionChain.ts";
import type { InstrumentQuote, ReadItem } from "../quotes/document.ts";
import { matchCall } from "../quotes/match.ts";
import { readHttpDate } from "../quotes/rateLimit.ts";
import {
  asking,
  type Checkup,
  type Finding,
  finding,
  KNOWN,
  NOT_ASKED,
  type Probe,
  UNKNOWN,
} from "./checkup.ts";

/** Below the list that the program begins with for symbols. */
const MOST_CONTRACTS = 99;

type Kind = "one" | "unknown" | "options" | "expirations" | "chain" | "long";

/**
 * The calls of a checkup: one of each kind, in their order, until one shows nothing more.
 *
 * @param mostContracts contracts in the long list, beside a stock
 * @param beside what is asked for together with the unknown symbol
 */
export function callsOf(
  kinds: readonly Kind[],
  mostContracts = MOST_CONTRACTS,
  beside: readonly string[] = [],
): Checkup["next"] {
  return (probed, today) => {
    const kind = kinds[probed.length];
    if (kind === undefined || probed.some(({ answer }) => answer.outcome !== "quotes")) return null;
    if (kind === "one") return asking(KNOWN);
    if (kind === "unknown") return asking(KNOWN, ...beside, UNKNOWN);
    if (kind === "expirations") return { form: "expirations", underlying: KNOWN, delayed: false };
    if (kind === "chain") {
      const expiration = middleDate(probed.at(-1), today);
      return expiration === null ? null : { form: "chain", underlying: KNOWN, expiration, delayed: false };
    }
    const contracts = contractsOf(probed, today);
    if (contracts.length === 0) return null;
    return asking(KNOWN, ...(kind === "long" ? contracts.slice(0, mostContracts) : middleOf(contracts)));
  };
}

/** OCC symbols of contracts around the first answer's last price: of so many that a list of them goes by POST. */
function contractsOf([first]: readonly Probe[], today: string): string[] {
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

/** Some that are most likely listed: near the price, and not of the first date, which may be today. */
function middleOf(contracts: readonly string[]): string[] {
  const start = Math.floor(contracts.length / 3);
  return contracts.slice(start, start + 12);
}

function expirationsOf(one: Probe | undefined): readonly string[] {
  return one?.answer.outcome === "quotes" ? (one.answer.document.expirations ?? []) : [];
}

/** A listed date that is surely not over; null: there is none. */
function middleDate(one: Probe | undefined, today: string): string | null {
  const ahead = expirationsOf(one).filter((date) => date > today);
  return ahead[Math.floor(ahead.length / 3)] ?? null;
}

function itemsReadOf({ answer }: Probe): readonly ReadItem[] {
  return answer.outcome === "quotes" ? answer.document.items : [];
}

export function itemsOf(one: Probe): InstrumentQuote[] {
  return itemsReadOf(one).flatMap((read) => (read.ok ? [read.item] : []));
}

export function optionsFinding(one: Probe | undefined): Finding {
  return finding(
    "Contracts stand in a list beside a stock",
    () => {
      const count = knownOptions(one).length;
      if (count > 0) return ["ok", `${count} of the list were known`];
      return one ? ["unknown", "no contract of the list was known"] : NOT_ASKED;
    },
    true,
  );
}

/** @param where what the answer is of */
export function greeksFinding(where: string, one: Probe | undefined): Finding {
  return finding(`Contracts of ${where} come with greeks`, () => {
    const options = knownOptions(one);
    const greeks = options.filter(({ quote }) => quote.extended.delta !== null).length;
    if (options.length === 0) return one ? ["unknown", "no contract was known"] : NOT_ASKED;
    return [greeks > 0 ? "ok" : "not_so", `${greeks} of ${options.length}`];
  });
}

function knownOptions(one: Probe | undefined): InstrumentQuote[] {
  const items = one ? itemsOf(one) : [];
  return items.filter(({ instrument, unknownSymbol }) => instrument.strike !== null && !unknownSymbol);
}

export function expirationsFinding(one: Probe | undefined): Finding {
  return finding("Expirations are listed, each date once and in order", () => {
    if (!one) return NOT_ASKED;
    const dates = expirationsOf(one);
    const inOrder = dates.every((date, place) => place === 0 || date > (dates[place - 1] ?? ""));
    if (dates.length === 0) return ["not_so", `HTTP ${one.status}, no date`];
    return [inOrder ? "ok" : "not_so", `${dates.length} dates`];
  });
}

export function chainFindings(one: Probe | undefined): Finding[] {
  const matched = one ? matchCall(one.call, itemsReadOf(one)) : [];
  const stored = matched.flatMap((match) => (match.fate === "stored" ? [match.item] : []));
  const rest = matched.length - stored.length;
  const withInterest = stored.filter(({ quote }) => quote.extended.openInterest !== null).length;
  return [
    finding("A whole expiration comes in one call, and nothing else with it", () => {
      if (one === undefined) return NOT_ASKED;
      const isSo = stored.length > 0 && rest === 0 && !one.further;
      const pages = one.further ? `, in ${one.further.length + 1} pages` : "";
      return [isSo ? "ok" : "not_so", `${stored.length} contracts of it, ${rest} others${pages}`];
    }),
    finding("Contracts of a whole expiration come with open interest", () => {
      if (stored.length === 0) return NOT_ASKED;
      return [withInterest > 0 ? "ok" : "not_so", `${withInterest} of ${stored.length}`];
    }),
  ];
}

/** Assumed: real-time quotes of a fund that trades each second are younger, while the market is open. */
const YOUNG_MS = 60_000;

/** Ages of quotes that are 15 minutes late, in ms. */
const LATE_MS = { least: 14 * 60_000, most: 18 * 60_000 };

export function ageFinding(probed: readonly Probe[], isDelayed: boolean): Finding {
  return finding(
    isDelayed
      ? "Quotes are 15 minutes late, as they are stored"
      : "Quotes are of real time, as they are stored",
    () => {
      const ages = probed.flatMap((one) => agesOf(one, "quotedAt"));
      if (ages.length === 0) return ["unknown", "no quote says when it was made"];
      const youngest = Math.min(...ages);
      const old = `the youngest was ${Math.max(0, Math.round(youngest / 1_000))} s old`;
      if (youngest < YOUNG_MS) return [isDelayed ? "not_so" : "ok", old];
      if (youngest < LATE_MS.least || youngest > LATE_MS.most)
        return ["unknown", `${old}: the market may be closed`];
      return [isDelayed ? "ok" : "not_so", old];
    },
    // Rows that say another time than theirs are wrong for good. A closed market says nothing.
    "when it is not so",
  );
}

/** In ms, when the answer came. */
function agesOf(one: Probe, time: "quotedAt" | "tradedAt"): number[] {
  const atMs = readHttpDate(one.headers["date"]) ?? Date.parse(one.observedAt);
  return itemsOf(one).flatMap(({ quote: { [time]: at } }) => (at ? [atMs - Date.parse(at)] : []));
}

/** Quotes may be late in another way than trades: their age is told. */
export function tradesFinding(one: Probe | undefined, isDelayed: boolean): Finding {
  return finding(`Trades of contracts are ${isDelayed ? "15 minutes late" : "of real time"}`, () => {
    if (!one) return NOT_ASKED;
    const [traded, quoted] = (["tradedAt", "quotedAt"] as const).map((time) =>
      Math.min(...agesOf(one, time)),
    );
    if (traded === undefined || traded === Infinity) return ["unknown", "no contract has a trade"];
    const old = (ms = Infinity): string =>
      ms === Infinity ? "not dated" : `${Math.round(ms / 1_000)} s old`;
    const why = `the youngest was ${old(traded)}, the youngest quote ${old(quoted)}`;
    if (traded > LATE_MS.most) return ["unknown", `${why}: the market may be closed`];
    return [isDelayed === traded >= LATE_MS.least ? "ok" : "not_so", why];
  });
}

export function rhoFinding(one: Probe | undefined): Finding {
  return finding("A put has greeks of its own: its rho is below 0", () => {
    const puts = one ? itemsOf(one).filter(({ instrument }) => instrument.optionType === "PUT") : [];
    const rhos = puts.flatMap(({ quote }) => quote.extended.rho ?? []);
    if (rhos.length === 0) return ["unknown", "no put had a rho"];
    const below = rhos.filter((rho) => rho.startsWith("-")).length;
    return [below > 0 ? "ok" : "not_so", `${below} of ${rhos.length}`];
  });
}
