/** The checkup of Alpaca: what docs/alpaca.md says is not known, as far as twelve calls show it. */
import { exchangeDate } from "../../market/calendar/dates.ts";
import type { QuoteCall } from "../../quotes/call.ts";
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
  type Probe,
  readableFinding,
  UNKNOWN,
} from "../checkup.ts";
import { ageFinding, chainFindings, expirationsFinding, greeksFinding, itemsOf } from "../checkupOptions.ts";
import { isObject, type JsonObject, parseJson, textOf, valueAt } from "../json.ts";
import { isDelayedFeed } from "./feeds.ts";

const [LIMIT, REMAINING, RESET] = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
] as const;

/** The calls by what they are to show, in their order. The same call twice shows how calls are counted. */
const CALLS = [
  "one",
  "again",
  "unknown",
  "class",
  "malformed",
  "lower",
  "long",
  "expirations",
  "chain",
  "classChain",
  "indexChain",
  "manyContracts",
] as const;

type Kind = (typeof CALLS)[number];

const CLASS_SHARE = "BRK.B";
const INDEX = "SPX";

/** Four letters each, so that all are well formed; hardly any is listed. */
const LONG_LIST = Array.from({ length: 200 }, (_, place) =>
  [17_576, 676, 26, 1]
    .map((of) => String.fromCharCode(65 + (Math.floor((place * 1_117 + 26) / of) % 26)))
    .join(""),
);

/** Contracts of a list that is one longer than the documentation has. */
const TOO_MANY = 101;

/** What a missing answer to these shows: an answer of another kind ends no checkup. */
const MAY_FAIL: ReadonlySet<Kind> = new Set([
  "malformed",
  "lower",
  "long",
  "classChain",
  "indexChain",
  "manyContracts",
]);

export const ALPACA_CHECKUP: Checkup = {
  next: (probed, today) => {
    const isOver = probed.some(
      ({ answer }, place) => answer.outcome !== "quotes" && !MAY_FAIL.has(CALLS[place] ?? "one"),
    );
    const kind = CALLS[probed.length];
    return isOver || kind === undefined ? null : callOf(kind, probed, today);
  },
  findings: (probed) => {
    const of = (kind: Kind): Probe | undefined => probed[CALLS.indexOf(kind)];
    const [one] = probed;
    const feed = one && "feed" in one.call ? one.call.feed : undefined;
    return [
      acceptedFinding(probed),
      readableFinding(
        "JSON",
        probed.filter((_, place) => !MAY_FAIL.has(CALLS[place] ?? "one")),
      ),
      headersFinding(
        [LIMIT, REMAINING, RESET],
        probed.filter(({ status }) => status === 200),
      ),
      expiryFinding(RESET, 1_000, probed),
      countFinding("used", RESET, probed.map(withUsed)),
      ageFinding(probed.slice(0, 1), isDelayedFeed(feed)),
      exchangeFinding(one, feed),
      sizesFinding(one),
      barFinding(one),
      leftOutFinding(of("unknown")),
      knownFinding(of("class")),
      malformedFinding(of("malformed")),
      answeredFinding("A symbol in lower case is answered", of("lower")),
      answeredFinding(`A list of ${LONG_LIST.length} symbols is answered`, of("long")),
      expirationsFinding(of("expirations")),
      interestFinding(of("expirations")),
      ...chainFindings(of("chain")).slice(0, 1),
      greeksFinding("a chain", of("chain")),
      rhoFinding(of("chain")),
      answeredFinding(`The chain of ${CLASS_SHARE} has contracts`, of("classChain")),
      answeredFinding(`The chain of ${INDEX} has contracts`, of("indexChain")),
      answeredFinding(`A list of ${TOO_MANY} contracts is answered`, of("manyContracts")),
      clockFinding(probed, false),
    ];
  },
};

function callOf(kind: Kind, probed: readonly Probe[], today: string): QuoteCall | null {
  const listed = probed[CALLS.indexOf("expirations")]?.answer;
  const dates = listed?.outcome === "quotes" ? (listed.document.expirations ?? []) : [];
  const [next] = dates.filter((date) => date > today);
  const chainOf = (underlying: string): QuoteCall | null =>
    next === undefined ? null : { form: "chain", underlying, expiration: next, delayed: false };
  switch (kind) {
    case "one":
    case "again":
      return asking(KNOWN);
    case "unknown":
      return asking(KNOWN, UNKNOWN);
    case "class":
      return asking(KNOWN, CLASS_SHARE);
    case "malformed":
      return asking(KNOWN, CLASS_SHARE.replace(".", "-"));
    case "lower":
      return asking(KNOWN.toLowerCase());
    case "long":
      return asking(...LONG_LIST);
    case "expirations":
      return { form: "expirations", underlying: KNOWN, delayed: false };
    case "chain":
      return chainOf(KNOWN);
    case "classChain":
      return chainOf(CLASS_SHARE);
    case "indexChain":
      return chainOf(INDEX);
    case "manyContracts":
      return asking(...contractsIn(probed[CALLS.indexOf("chain")]).slice(0, TOO_MANY));
  }
}

/** OCC symbols of a chain's answer. */
function contractsIn(chain: Probe | undefined): string[] {
  const snapshots = chain && valueAt(bodyOf(chain) ?? {}, "snapshots");
  return isObject(snapshots) ? Object.keys(snapshots) : [];
}

function bodyOf({ status, body }: Probe): JsonObject | null {
  if (status !== 200) return null;
  const json = parseJson(body);
  return isObject(json) ? json : null;
}

/** `Used` is not sent: it is what is missing of the limit. */
function withUsed(one: Probe): Probe {
  const used = Number(one.headers[LIMIT] ?? NaN) - Number(one.headers[REMAINING] ?? NaN);
  return { ...one, headers: { ...one.headers, used: String(used) } };
}

function partOf(one: Probe | undefined, part: string): JsonObject | null {
  const snapshot = one && valueAt(bodyOf(one) ?? {}, KNOWN);
  const found = isObject(snapshot) ? valueAt(snapshot, part) : undefined;
  return isObject(found) ? found : null;
}

/** IEX is one exchange, whose code is `V`; any other feed has several. */
function exchangeFinding(one: Probe | undefined, feed: string | undefined): Finding {
  const book = partOf(one, "latestQuote");
  const codes = ["ax", "bx"].flatMap((name) => (book && textOf(valueAt(book, name))) || []);
  const isIex = codes.every((code) => code.trim() === "" || code === "V");
  const judged = (): readonly [Finding["verdict"], string] =>
    codes.length === 0
      ? NOT_ASKED
      : [isIex === (feed === "iex") ? "ok" : "unknown", isIex ? "IEX alone" : "others than IEX"];
  return finding(`Quotes of the feed ${feed ?? "asked for"} are of its exchanges`, judged);
}

/** Round lots would all be small numbers; shares are hardly ever below 10. */
function sizesFinding(one: Probe | undefined): Finding {
  const [quote] = one ? itemsOf(one) : [];
  const sizes = [quote?.quote.extended.bidSize, quote?.quote.extended.askSize].flatMap((size) =>
    size ? [Number(size)] : [],
  );
  const judged = (): readonly [Finding["verdict"], string] =>
    sizes.length === 0
      ? NOT_ASKED
      : [sizes.some((size) => size >= 10) ? "ok" : "unknown", `${sizes.length} sizes were read`];
  return finding("Sizes are shares", judged);
}

/** The left edge of a daily bar. */
function barFinding(one: Probe | undefined): Finding {
  const bar = partOf(one, "dailyBar");
  const at = bar && textOf(valueAt(bar, "t"));
  const judged = (): readonly [Finding["verdict"], string] => {
    if (!at || !one) return NOT_ASKED;
    const now = new Date(readHttpDate(one.headers["date"]) ?? Date.parse(one.observedAt));
    const isToday = exchangeDate(new Date(at)) === exchangeDate(now);
    return [
      /T0[45]:00:00Z$/.test(at) ? "ok" : "not_so",
      isToday ? "the last one is of today" : "the last one is of another date",
    ];
  };
  return finding("A daily bar begins at midnight in New York", judged);
}

function leftOutFinding(one: Probe | undefined): Finding {
  const told = one ? itemsOf(one).filter(({ unknownSymbol }) => unknownSymbol).length : 0;
  return finding(
    "An unknown symbol is left out of the answer",
    () => (one ? [one.status === 200 && told === 1 ? "ok" : "not_so", `HTTP ${one.status}`] : NOT_ASKED),
    true,
  );
}

function knownFinding(one: Probe | undefined): Finding {
  const isKnown = one !== undefined && itemsOf(one).every(({ unknownSymbol }) => !unknownSymbol);
  return finding("A class of shares has a quote by the archive's name", () =>
    one ? [isKnown ? "ok" : "not_so", `HTTP ${one.status}`] : NOT_ASKED,
  );
}

function malformedFinding(one: Probe | undefined): Finding {
  const judged = (): readonly [Finding["verdict"], string] => {
    if (!one) return NOT_ASKED;
    const isNamed = one.answer.outcome === "refused" && one.answer.badSymbol !== undefined;
    return [
      isNamed ? "ok" : "not_so",
      isNamed ? "it is named" : `HTTP ${one.status}, and no symbol is named`,
    ];
  };
  return finding("A badly formed symbol fails its list, and is named", judged);
}

/** What nobody knows: either answer is right. */
function answeredFinding(assumption: string, one: Probe | undefined): Finding {
  const known = one ? itemsOf(one).filter(({ unknownSymbol }) => !unknownSymbol).length : 0;
  return finding(assumption, () =>
    one
      ? [one.status === 200 && known > 0 ? "ok" : "not_so", `HTTP ${one.status}, ${known} quotes`]
      : NOT_ASKED,
  );
}

function interestFinding(one: Probe | undefined): Finding {
  const count = one?.answer.outcome === "quotes" ? (one.answer.document.interests?.length ?? 0) : 0;
  return finding("Contracts are listed with their open interest", () =>
    one ? [count > 0 ? "ok" : "not_so", `${count} have one`] : NOT_ASKED,
  );
}

function rhoFinding(one: Probe | undefined): Finding {
  const rhos = one
    ? itemsOf(one).flatMap(({ instrument, quote }) =>
        instrument.optionType === "PUT" && quote.extended.rho ? [Number(quote.extended.rho)] : [],
      )
    : [];
  const below = rhos.filter((rho) => rho < 0).length;
  return finding("A put has greeks of its own: its rho is below 0", () =>
    rhos.length === 0 ? NOT_ASKED : [below > 0 ? "ok" : "not_so", `${below} of ${rhos.length}`],
  );
}
