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
  KNOWN,
  NOT_ASKED,
  type Probe,
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
import { isObject, type Json, type JsonObject, parseJson, textOf, valueAt } from "../json.ts";
import { LIMITS } from "./tradierLimit.ts";
import { writeTradier } from "./writeTradier.ts";

const [ALLOWED, USED, EXPIRY] = ["x-ratelimit-allowed", "x-ratelimit-used", "x-ratelimit-expiry"] as const;

/** The calls by what they are to show, in their order. The same call thrice shows how calls are counted. */
const CALLS = ["one", "unknown", "options", "expirations", "chain", "one", "one", "long"] as const;

/** What has a name of its own at Tradier, or is not everywhere: asked for beside the unknown symbol. */
const CLASS_SHARE = "BRK.B";
const INDEXES = ["SPX", "NDX", "RUT"] as const;

export const TRADIER_CHECKUP: Checkup = {
  next: callsOf(CALLS, undefined, [CLASS_SHARE, ...INDEXES]),
  findings: (probed, isDelayed) => {
    const of = (kind: (typeof CALLS)[number]): Probe | undefined => probed[CALLS.indexOf(kind)];
    return [
      acceptedFinding(probed),
      readableFinding("JSON", probed),
      headersFinding([ALLOWED, USED, "x-ratelimit-available", EXPIRY], probed),
      expiryFinding(EXPIRY, 1, probed),
      allowedFinding(probed, isDelayed === true),
      countFinding(USED, EXPIRY, probed),
      objectFinding(of("one")),
      unmatchedFinding(of("unknown")),
      knownFinding("A class of shares has a quote by the archive's name", [CLASS_SHARE], of("unknown")),
      knownFinding("Indexes have quotes", INDEXES, of("unknown")),
      sizesFinding(probed),
      optionsFinding(of("options")),
      greeksFinding("a list", of("options")),
      expirationsFinding(of("expirations")),
      ...chainFindings(of("chain")),
      putsFinding(of("chain")),
      longFinding(of("long")),
      ageFinding(probed, isDelayed === true),
      clockFinding(probed, false),
    ];
  },
};

type Judgement = readonly [Finding["verdict"], string];

/** The value of `quotes`; null: the answer has none. */
function quotesIn({ answer, body }: Probe): JsonObject | null {
  if (answer.outcome !== "quotes") return null;
  return objectAt(parseJson(body), "quotes");
}

function quoteIn(one: Probe): Json | undefined {
  return inside(quotesIn(one), "quote");
}

function inside(json: Json | undefined, key: string): Json | undefined {
  return isObject(json) ? valueAt(json, key) : undefined;
}

function objectAt(json: Json | undefined, key: string): JsonObject | null {
  const value = inside(json, key);
  return isObject(value) ? value : null;
}

function allowedFinding(probed: readonly Probe[], isSandbox: boolean): Finding {
  const documented = LIMITS[isSandbox ? "sandbox" : "production"].calls;
  const said = [...new Set(probed.flatMap(({ headers }) => headers[ALLOWED]?.trim() ?? []))];
  const [first = ""] = said;
  const judged = (): Judgement => {
    if (said.length !== 1 || !/^\d{1,9}$/.test(first))
      return ["unknown", `${said.length} numbers in the answers`];
    return [Number(first) === documented ? "ok" : "not_so", `it says ${first}`];
  };
  return finding(`${ALLOWED} is ${documented}, as the documentation says`, judged());
}

function objectFinding(one: Probe | undefined): Finding {
  const quote = one && quoteIn(one);
  const judged = (): Judgement => {
    if (quote === undefined) return NOT_ASKED;
    if (isObject(quote)) return ["ok", "it is an object"];
    return Array.isArray(quote)
      ? ["not_so", "it is a list"]
      : ["not_so", "it is neither an object nor a list"];
  };
  return finding("The quote of a single symbol is an object, and no list of one", judged());
}

function unmatchedFinding(one: Probe | undefined): Finding {
  const judged = (): Judgement => {
    if (!one || one.answer.outcome !== "quotes") return one ? ["unknown", `HTTP ${one.status}`] : NOT_ASKED;
    const told = itemsOf(one).filter(({ unknownSymbol }) => unknownSymbol).length;
    return told > 0
      ? ["ok", "it is there"]
      : [
          "not_so",
          inside(quotesIn(one), "unmatched_symbols") === undefined
            ? "it is missing"
            : "it is of another form",
        ];
  };
  return finding("An unknown symbol stands in unmatched_symbols", judged(), true);
}

function knownFinding(assumption: string, symbols: readonly string[], one: Probe | undefined): Finding {
  const judged = (): Judgement => {
    if (!one || one.answer.outcome !== "quotes") return NOT_ASKED;
    const told = itemsOf(one).filter(({ unknownSymbol }) => !unknownSymbol);
    const known = symbols.filter((symbol) => told.some(({ instrument }) => instrument.symbol === symbol));
    return [known.length === symbols.length ? "ok" : "not_so", `${known.length} of ${symbols.length}`];
  };
  return finding(assumption, judged());
}

/** Shares of a round lot by the price, from the highest on (Regulation NMS, 242.600, in force from 2025-11-03). */
const ROUND_LOTS = [
  [10_000, 1],
  [1_000, 10],
  [250, 40],
  [0, 100],
] as const;

/** Feeds quote round lots: in shares each size is a multiple of one, and in lots or hundreds hardly any is. */
function sizesFinding(probed: readonly Probe[]): Finding {
  const quotes = probed
    .flatMap(itemsOf)
    .filter(({ instrument }) => instrument.symbol === KNOWN && instrument.strike === null);
  const price = Number(quotes.find(({ quote }) => quote.last !== null)?.quote.last ?? 0);
  const [, lot] = ROUND_LOTS.find(([above]) => price > above) ?? [0, 1];
  const sizes = quotes
    .flatMap(({ quote: { extended } }) => [extended.bidSize, extended.askSize])
    .flatMap((size) => (size === null || size === "0" ? [] : [Number(size)]));
  const multiples = sizes.filter((size) => size % lot === 0).length;
  const judged = (): Judgement => {
    if (sizes.length === 0 || lot === 1) return ["unknown", "no size of a round lot came"];
    const counted = `${multiples} of ${sizes.length} are multiples of a round lot`;
    if (multiples === sizes.length) return ["ok", counted];
    return sizes.every((size) => size < lot)
      ? ["not_so", `${counted}, each is smaller: they are no shares`]
      : ["unknown", counted];
  };
  const verdict = judged();
  // Sizes in another unit are stored wrong for good.
  return finding("Sizes of stocks are shares, as they are stored", verdict, verdict[0] === "not_so");
}

/** Rho of puts as they were sent: it is not stored. */
function putsFinding(one: Probe | undefined): Finding {
  const document = one?.answer.outcome === "quotes" ? parseJson(one.body) : null;
  const options = [inside(objectAt(document, "options"), "option") ?? []].flat();
  const rhos = options
    .filter((option) => inside(option, "option_type") === "put")
    .flatMap((option) => textOf(inside(objectAt(option, "greeks"), "rho")) ?? []);
  const own = rhos.filter((rho) => Number(rho) < 0).length;
  return finding(
    "Theta and rho of a put are the call's, so that they are not stored",
    rhos.length === 0
      ? ["unknown", "no put had a rho"]
      : [own === 0 ? "ok" : "not_so", `rho of ${own} of ${rhos.length} puts is below 0`],
  );
}

function longFinding(one: Probe | undefined): Finding {
  const judged = (): Judgement => {
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
