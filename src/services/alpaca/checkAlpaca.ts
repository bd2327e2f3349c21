/** The checkup of Alpaca: what docs/alpaca.md says is not known, as far as twelve calls show it. */
import { DAY, exchangeDate, exchangeTime, weekdayOf } from "../../market/calendar/dates.ts";
import { refusesFeed } from "../../quotes/answer.ts";
import type { QuoteCall } from "../../quotes/call.ts";
import { readHttpDate } from "../../quotes/rateLimit.ts";
import {
  acceptedFinding,
  allowedFinding,
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
  type ProbedAnswer,
  readableFinding,
  UNKNOWN,
} from "../checkup.ts";
import {
  ageFinding,
  chainFindings,
  expirationsFinding,
  greeksFinding,
  itemsOf,
  rhoFinding,
  tradesFinding,
} from "../checkupOptions.ts";
import { sizesFinding } from "../checkupSizes.ts";
import { isObject, type Json, type JsonObject, parseJson, textOf, valueAt } from "../json.ts";
import { isDelayedFeed } from "./feeds.ts";

const LIMIT = "x-ratelimit-limit";
const REMAINING = "x-ratelimit-remaining";
const RESET = "x-ratelimit-reset";

/** The free plan, and the one with all feeds ("About Market Data API", 2026-07-16). */
const PLANS = [200, 10_000];

const CLASS_SHARE = "BRK.B";
const INDEX = "SPX";
const FURTHER_ROOT = "SPXW";

/** Four letters each, so that all are well formed; hardly any is listed. */
const LONG_LIST = Array.from({ length: 200 }, (_, place) =>
  [17_576, 676, 26, 1]
    .map((of) => String.fromCharCode(65 + (Math.floor((place * 1_117 + 26) / of) % 26)))
    .join(""),
);

/** Contracts of a list, by the documentation. */
const MOST_CONTRACTS = 100;

/** What the answers so far say of the calls that hang on them. */
type Known = { chainOf: (underlying: string) => QuoteCall | null; contracts: readonly string[] };

/** The calls by what they are to show, in their order. A refused name and an index cost a second call. */
const CALLS = {
  one: () => asking(KNOWN),
  again: () => asking(KNOWN),
  unknown: () => asking(KNOWN, CLASS_SHARE, UNKNOWN),
  malformed: () => asking(KNOWN, CLASS_SHARE.replace(".", "-")),
  long: () => asking(...LONG_LIST),
  expirations: () => ({ form: "expirations", underlying: KNOWN, delayed: false }),
  chain: ({ chainOf }) => chainOf(KNOWN),
  indexChain: ({ chainOf }) => chainOf(INDEX),
  classChain: ({ chainOf }) => chainOf(CLASS_SHARE),
  contracts: ({ contracts }) => (contracts.length === 0 ? null : asking(...contracts)),
} satisfies Record<string, (known: Known) => QuoteCall | null>;

type Kind = keyof typeof CALLS;

const KINDS = Object.keys(CALLS) as readonly Kind[];

/** An answer of another kind to one of these shows something too, and ends no checkup. */
const MAY_FAIL: readonly (Kind | undefined)[] = [
  "malformed",
  "long",
  "indexChain",
  "classChain",
  "contracts",
];

const mayFail = (place: number): boolean => MAY_FAIL.includes(KINDS[place]);

export const ALPACA_CHECKUP: Checkup = {
  next: (probed, today) => {
    const isOver = probed.some(({ answer }, place) => answer.outcome !== "quotes" && !mayFail(place));
    const kind = KINDS[probed.length];
    return isOver || kind === undefined ? null : CALLS[kind](knownFrom(probed, today));
  },
  findings: (probed) => {
    const of = (kind: Kind): Probe | undefined => probed[KINDS.indexOf(kind)];
    const [one] = probed;
    return [
      acceptedFinding(probed),
      planFinding("stocks", one),
      planFinding("options", of("chain")),
      readableFinding(
        "JSON",
        probed.filter((_, place) => !mayFail(place)),
      ),
      headersFinding(
        [LIMIT, REMAINING, RESET],
        probed.filter(({ status }) => status === 200),
      ),
      allowedFinding(LIMIT, PLANS, probed),
      expiryFinding(RESET, 1_000, probed),
      minuteFinding(probed.slice(0, KINDS.indexOf("expirations"))),
      countFinding({ name: REMAINING, by: -1 }, RESET, probed.slice(0, KINDS.indexOf("malformed"))),
      ageFinding(probed.slice(0, 1), isDelayedFeed(feedOf(one))),
      exchangeFinding(one),
      stubFinding(one),
      sizesFinding(probed),
      barFinding(one),
      needed(toldFinding("An unknown symbol is left out of the answer", of("unknown"), UNKNOWN)),
      toldFinding("A class of shares has a quote by the archive's name", of("unknown"), CLASS_SHARE),
      malformedFinding(of("malformed")),
      answeredFinding(`A list of ${LONG_LIST.length} symbols is answered`, of("long"), 0),
      tradingFinding(of("expirations")),
      apartFinding(pagesOf(of("long")).at(-1), of("chain")),
      expirationsFinding(of("expirations")),
      interestFinding(of("expirations")),
      ...chainFindings(of("chain")).slice(0, 1),
      tradesFinding(of("chain"), isDelayedFeed(feedOf(of("chain")))),
      greeksFinding("a chain", of("chain")),
      rhoFinding(of("chain")),
      indexFinding(of("indexChain")),
      answeredFinding("The chain of a class of shares has contracts", of("classChain"), 1),
      answeredFinding(`A list of ${MOST_CONTRACTS} contracts is answered`, of("contracts"), 1),
      clockFinding(probed, false),
    ];
  },
};

function knownFrom(probed: readonly Probe[], today: string): Known {
  const listed = pagesOf(probed[KINDS.indexOf("expirations")]).map(({ answer }) => answer);
  const ahead = listed
    .flatMap((answer) => (answer.outcome === "quotes" && answer.document.expirations) || [])
    .filter((date) => date > today);
  // A third Friday: each underlying has contracts of it.
  const isMonthly = (date: string): boolean => weekdayOf(date) === DAY.friday && /(1[5-9]|2[01])$/.test(date);
  const expiration = ahead.find(isMonthly) ?? ahead[0];
  return {
    chainOf: (underlying) =>
      expiration === undefined ? null : { form: "chain", underlying, expiration, delayed: false },
    contracts: contractsIn(probed[KINDS.indexOf("chain")]).slice(0, MOST_CONTRACTS),
  };
}

function pagesOf(one: Probe | undefined): ProbedAnswer[] {
  return one ? [one, ...(one.further ?? [])] : [];
}

/** OCC symbols of a chain's answer. */
function contractsIn(chain: ProbedAnswer | undefined): string[] {
  return Object.keys(within(chain, "snapshots"));
}

/** The object at a path of keys; an empty one: there is none. */
function within(one: ProbedAnswer | undefined, ...keys: readonly string[]): JsonObject {
  let found: Json | undefined = one?.status === 200 ? parseJson(one.body) : undefined;
  for (const key of keys) found = isObject(found) ? valueAt(found, key) : undefined;
  return isObject(found) ? found : {};
}

function feedOf(one: Probe | undefined): string | undefined {
  return one && "feed" in one.call ? one.call.feed : undefined;
}

function atOf({ headers, observedAt }: ProbedAnswer): Date {
  return new Date(readHttpDate(headers["date"]) ?? observedAt);
}

type Judge = (one: Probe) => readonly [Finding["verdict"], string];

function seen(assumption: string, one: Probe | undefined, judge: Judge): Finding {
  return finding(assumption, () => (one ? judge(one) : NOT_ASKED));
}

/** Needed where it is not so. */
function needed(found: Finding): Finding {
  return { ...found, needed: found.verdict === "not_so" };
}

function planFinding(what: string, asked: Probe | undefined): Finding {
  const judge: Judge = (one) => {
    const verdict = one.answer.outcome === "quotes" ? "ok" : "unknown";
    return [refusesFeed(one.answer) ? "not_so" : verdict, `${feedOf(one)}, HTTP ${one.status}`];
  };
  return needed(seen(`The account's plan has the feed of ${what}`, asked, judge));
}

/** A quote that is wider, in parts of its middle, is a stub: it is stored as it came. */
const WIDEST = 0.05;

function stubFinding(asked: Probe | undefined): Finding {
  return seen("The quote of a large fund is narrow, and no stub", asked, (one) => {
    const [quote] = itemsOf(one).map((item) => item.quote);
    const [bid, ask] = [Number(quote?.bid ?? NaN), Number(quote?.ask ?? NaN)];
    if (Number.isNaN(bid + ask)) return ["unknown", "one side has no price"];
    const width = (2 * (ask - bid)) / (ask + bid);
    return [width < WIDEST ? "ok" : "not_so", `it is ${(100 * width).toFixed(1)} % wide`];
  });
}

/** In a minute that slides it would be when the oldest counted call leaves it. */
function minuteFinding(probed: readonly Probe[]): Finding {
  const ends = probed.flatMap(({ headers }) => Number(headers[RESET]?.trim() || NaN) || []);
  const whole = ends.filter((end) => end % 60 === 0).length;
  return finding(`${RESET} ends a minute of the clock`, () => {
    if (ends.length === 0) return NOT_ASKED;
    return [whole === ends.length ? "ok" : "not_so", `${whole} of ${ends.length} are whole minutes`];
  });
}

/** IEX is one exchange, whose code is `V`; any other feed has several. */
function exchangeFinding(asked: Probe | undefined): Finding {
  const feed = feedOf(asked);
  return seen("Quotes of stocks are of their feed's exchanges", asked, (one) => {
    const book = within(one, KNOWN, "latestQuote");
    const codes = ["ax", "bx"].flatMap((name) => textOf(valueAt(book, name))?.trim() || []);
    const isIex = codes.every((code) => code === "V");
    if (codes.length === 0) return ["unknown", "no exchange is named"];
    return [isIex === (feed === "iex") ? "ok" : "not_so", isIex ? "IEX alone" : "others than IEX"];
  });
}

/** The left edge of a daily bar. */
function barFinding(asked: Probe | undefined): Finding {
  return seen("A daily bar begins at midnight in New York", asked, (one) => {
    const at = textOf(valueAt(within(one, KNOWN, "dailyBar"), "t"));
    if (!at) return ["unknown", "there is none"];
    const isToday = exchangeDate(new Date(at)) === exchangeDate(atOf(one));
    const isMidnight = exchangeTime(new Date(at)).endsWith(" 00:00:00");
    return [isMidnight ? "ok" : "not_so", `the last one is of ${isToday ? "today" : "another date"}`];
  });
}

/** @param symbol that is unknown, or of a class of shares and known */
function toldFinding(assumption: string, asked: Probe | undefined, symbol: string): Finding {
  return seen(assumption, asked, (one) => {
    const told = itemsOf(one).find(({ instrument }) => instrument.symbol === symbol);
    return [told?.unknownSymbol === (symbol === UNKNOWN) ? "ok" : "not_so", `HTTP ${one.status}`];
  });
}

function malformedFinding(asked: Probe | undefined): Finding {
  return seen("A badly formed symbol fails its list, and is named", asked, ({ answer, status }) => {
    const isNamed = answer.outcome === "refused" && answer.badSymbol !== undefined;
    return [isNamed ? "ok" : "not_so", `HTTP ${status}, and ${isNamed ? "it" : "no symbol"} is named`];
  });
}

/** No page says whether it is so: either answer is right. @param least quotes that it has to bring */
function answeredFinding(assumption: string, asked: Probe | undefined, least: number): Finding {
  return seen(assumption, asked, (one) => {
    const known = itemsOf(one).filter(({ unknownSymbol }) => !unknownSymbol).length;
    return [one.status === 200 && known >= least ? "ok" : "not_so", `HTTP ${one.status}, ${known} quotes`];
  });
}

function tradingFinding(asked: Probe | undefined): Finding {
  const judge: Judge = ({ answer: { outcome }, status }) => {
    if (outcome === "quotes") return ["ok", `HTTP ${status}`];
    return [outcome === "unauthorized" ? "not_so" : "unknown", `HTTP ${status}, taken as ${outcome}`];
  };
  return needed(seen("The trading host of the settings takes the key", asked, judge));
}

/** @param before the last call of the data host before one of the trading host; `after`: the next one of the data host */
function apartFinding(before: ProbedAnswer | undefined, after: Probe | undefined): Finding {
  return seen("The trading host counts its calls apart", before && after, ({ headers }) => {
    const fewer = Number(before?.headers[REMAINING] ?? NaN) - Number(headers[REMAINING] ?? NaN);
    const isSame = before?.headers[RESET] === headers[RESET];
    if (!isSame || Number.isNaN(fewer)) return ["unknown", "no two answers of one window have a count"];
    return [fewer === 1 ? "ok" : "not_so", `a call of each host took ${fewer} of the data host's`];
  });
}

function interestFinding(asked: Probe | undefined): Finding {
  return seen("Contracts are listed with the open interest of a day before", asked, (one) => {
    const listed = one.answer.outcome === "quotes" ? (one.answer.document.interests ?? []) : [];
    const before = listed.filter(
      ({ quote }) => (quote.extended.openInterestDate ?? "") < exchangeDate(atOf(one)),
    ).length;
    if (listed.length === 0) return ["unknown", "none was listed"];
    return [before === listed.length ? "ok" : "not_so", `${before} of ${listed.length}`];
  });
}

/** The first page is that of the index's own name. */
function indexFinding(asked: Probe | undefined): Finding {
  return seen("An index has contracts of its own root, and of the further one by its name", asked, (one) => {
    const pages = pagesOf(one).map(contractsIn);
    const others = pages[0]?.filter((symbol) => !symbol.startsWith(INDEX) || symbol.startsWith(FURTHER_ROOT));
    const isSo = pages.length > 1 && pages.every((page) => page.length > 0) && others?.length === 0;
    const counts = pages.map((page) => page.length).join(" and ");
    return [
      isSo ? "ok" : "not_so",
      `HTTP ${one.status}, ${counts} contracts, ${others?.length} of another root`,
    ];
  });
}
