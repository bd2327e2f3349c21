/** The checkup of Tradier: what docs/tradier.md says is not known, as far as eight calls show it. */
import {
  acceptedFinding,
  type Checkup,
  clockFinding,
  countFinding,
  expiryFinding,
  type Finding,
  finding,
  headersFinding,
  NOT_ASKED,
  type Probed,
  readableFinding,
} from "../checkup.ts";
import {
  ageFinding,
  callsOf,
  chainFindings,
  expirationsFinding,
  greeksFinding,
  itemsOf,
  optionsFinding,
} from "../checkupOptions.ts";
import { JsonObject, type Json, parsePlainJson } from "../plainJson.ts";
import { LIMITS } from "./tradierLimit.ts";
import { writeTradier } from "./writeTradier.ts";

const [ALLOWED, USED, EXPIRY] = ["x-ratelimit-allowed", "x-ratelimit-used", "x-ratelimit-expiry"] as const;

/** The calls by what they are to show, in their order. The same call thrice shows how calls are counted. */
const CALLS = ["one", "unknown", "options", "expirations", "chain", "one", "one", "long"] as const;

export const TRADIER_CHECKUP: Checkup = {
  next: callsOf(CALLS),
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
      optionsFinding(of("options")),
      greeksFinding("a list", of("options")),
      expirationsFinding(of("expirations")),
      ...chainFindings(of("chain")),
      longFinding(of("long")),
      ageFinding(probed, isDelayed === true),
      clockFinding(probed, false),
    ];
  },
};

type Judged = readonly [Finding["verdict"], string];

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
