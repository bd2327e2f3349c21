/** The checkup of Tradier: what docs/tradier.md says is not known, as far as eight calls show it. */
import {
  acceptedFinding,
  allowedFinding,
  type Checkup,
  clockFinding,
  countFinding,
  expiryFinding,
  type Finding,
  finding,
  headersFinding,
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
import { sizesFinding } from "../checkupSizes.ts";
import { isObject, type Json, parseJson, textOf, valueAt } from "../json.ts";
import { LIMITS } from "./tradierLimit.ts";
import { TRADIER_CALLS } from "./writeTradier.ts";

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
      allowedFinding(ALLOWED, [LIMITS[isDelayed ? "sandbox" : "production"].calls], probed),
      countFinding({ name: USED, by: 1 }, EXPIRY, probed),
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

/** The value at a path of keys; undefined: it ends before. */
function within(json: Json | undefined, ...keys: readonly string[]): Json | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) return json;
  return isObject(json) ? within(valueAt(json, key), ...rest) : undefined;
}

function documentOf(one: Probe | undefined): Json {
  return one?.answer.outcome === "quotes" ? parseJson(one.body) : null;
}

function objectFinding(one: Probe | undefined): Finding {
  return finding("The quote of a single symbol is an object, and no list of one", () => {
    const quote = within(documentOf(one), "quotes", "quote");
    if (quote === undefined) return NOT_ASKED;
    if (isObject(quote)) return ["ok", "it is an object"];
    return ["not_so", Array.isArray(quote) ? "it is a list" : "it is neither an object nor a list"];
  });
}

function unmatchedFinding(one: Probe | undefined): Finding {
  return finding(
    "An unknown symbol stands in unmatched_symbols",
    () => {
      if (one?.answer.outcome !== "quotes") return one ? ["unknown", `HTTP ${one.status}`] : NOT_ASKED;
      if (itemsOf(one).some(({ unknownSymbol }) => unknownSymbol)) return ["ok", "it is there"];
      const isMissing = within(documentOf(one), "quotes", "unmatched_symbols") === undefined;
      return ["not_so", isMissing ? "it is missing" : "it is of another form"];
    },
    true,
  );
}

function knownFinding(assumption: string, symbols: readonly string[], one: Probe | undefined): Finding {
  return finding(assumption, () => {
    if (one?.answer.outcome !== "quotes") return NOT_ASKED;
    const told = itemsOf(one).filter(({ unknownSymbol }) => !unknownSymbol);
    const known = symbols.filter((symbol) => told.some(({ instrument }) => instrument.symbol === symbol));
    return [known.length === symbols.length ? "ok" : "not_so", `${known.length} of ${symbols.length}`];
  });
}

/** Rho of puts as they were sent: it is not stored. */
function putsFinding(one: Probe | undefined): Finding {
  return finding("Theta and rho of a put are the call's, so that they are not stored", () => {
    const options = [within(documentOf(one), "options", "option") ?? []].flat();
    const rhos = options
      .filter((option) => within(option, "option_type") === "put")
      .flatMap((option) => textOf(within(option, "greeks", "rho")) ?? []);
    if (rhos.length === 0) return ["unknown", "no put had a rho"];
    const own = rhos.filter((rho) => Number(rho) < 0).length;
    return [own === 0 ? "ok" : "not_so", `rho of ${own} of ${rhos.length} puts is below 0`];
  });
}

function longFinding(one: Probe | undefined): Finding {
  return finding(
    "A long list goes by POST, and each symbol of it is answered",
    () => {
      if (!one || one.call.form !== "symbols") return NOT_ASKED;
      const { method } = TRADIER_CALLS.symbols(one.call);
      const asked = one.call.symbols.length;
      const what = `${method}, ${asked} symbols, HTTP ${one.status}`;
      if (one.answer.outcome !== "quotes") return ["not_so", `${what}, taken as ${one.answer.outcome}`];
      const told = itemsOf(one).length;
      if (method !== "POST") return ["unknown", `${what}: the list was too short for POST`];
      return [told === asked ? "ok" : "not_so", `${what}, ${told} answered or told as unknown`];
    },
    true,
  );
}
