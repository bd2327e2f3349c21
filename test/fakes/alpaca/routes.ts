/** The calls that the fake answers, and what is wrong with a call (market-data-api.json, trading-api.json). */
import { addDays, DAY, exchangeDate, isDateText, weekdayOf } from "../../../src/market/calendar/dates.ts";
import { inCapitals } from "../../../src/market/instrument.ts";
import { seedOf } from "../../../src/serve/simulated/hash.ts";
import type { FaultAnswer } from "../faultRules.ts";
import {
  chainOf,
  type Contract,
  contractOfSymbol,
  expirationsOf,
  type ListingRules,
  type Underlying,
  underlyingOf,
} from "../listing.ts";
import { openInterest } from "../trading.ts";
import { type Document, number, type Value, writeJson } from "../wire.ts";
import { type Host, JSON_TYPE, NO_ENDPOINT, NO_OPRA, NO_SIP, problem } from "./faults.ts";
import type { OptionFeed, Snapshots, StockFeed } from "./snapshots.ts";

export type Plan = "basic" | "plus";

export type RouteContext = ListingRules & {
  snapshots: Snapshots;
  plan: Plan;
  /** Most contracts of a page, whatever `limit` is asked for: a page may hold fewer though more follow. */
  mostOfAPage: number;
  /** The same of the trading host's list of contracts. */
  mostOfAList: number;
  /** A contract of an adjusted root that stands in an underlying's chain, by the underlying: its OCC symbol. */
  adjusted: Readonly<Record<string, string>>;
};

type Asked = { fields: URLSearchParams; at: Date; below: string };
type Answering = (asked: Asked, context: RouteContext) => Document | FaultAnswer;

const PAGE = { usual: 100, most: 1_000 } as const;
const CONTRACTS_PAGE = { usual: 100, most: 10_000 } as const;

/** Most contracts of a list (market-data-api.json). */
const MOST_CONTRACTS = 100;

type Route = { path: string; hasBelow?: true; knows: readonly string[]; answer: Answering };

const ROUTES: Readonly<Record<Host, readonly Route[]>> = {
  data: [
    { path: "/v2/stocks/snapshots", knows: ["symbols", "feed", "currency"], answer: stocks },
    {
      path: "/v1beta1/options/snapshots",
      knows: ["symbols", "feed", "updated_since", "limit", "page_token"],
      answer: contractList,
    },
    {
      path: "/v1beta1/options/snapshots/",
      hasBelow: true,
      knows: [
        "feed",
        "type",
        "strike_price_gte",
        "strike_price_lte",
        "expiration_date",
        "expiration_date_gte",
        "expiration_date_lte",
        "root_symbol",
        "updated_since",
        "limit",
        "page_token",
      ],
      answer: chain,
    },
  ],
  trading: [
    {
      path: "/v2/options/contracts",
      knows: [
        "underlying_symbols",
        "status",
        "expiration_date",
        "expiration_date_gte",
        "expiration_date_lte",
        "root_symbol",
        "type",
        "limit",
        "page_token",
      ],
      answer: contracts,
    },
  ],
};

/** @param path of the call, without its query */
export function route(
  host: Host,
  path: string,
  asked: Omit<Asked, "below">,
  context: RouteContext,
): FaultAnswer {
  const found = ROUTES[host].find((one) => (one.hasBelow ? path.startsWith(one.path) : path === one.path));
  if (!found) return NO_ENDPOINT;
  const unknown = [...new Set(asked.fields.keys())].filter((name) => !found.knows.includes(name));
  if (unknown.length > 0) return problem(400, `unexpected query parameter(s): ${unknown.join(", ")}`);
  const below = decodeURIComponent(path.slice(found.path.length));
  const answer = found.answer({ ...asked, below }, context);
  return isFault(answer) ? answer : { status: 200, type: JSON_TYPE, body: writeJson(answer) };
}

function isFault(answer: Document | FaultAnswer): answer is FaultAnswer {
  return typeof (answer as FaultAnswer).status === "number";
}

/** A digit, a hyphen or another sign fails the whole list, and one name is told. Lower case is not known: taken as it is here. */
const WELL_FORMED = /^[A-Za-z]+(\.[A-Za-z]+)?$/;

function stocks({ fields, at }: Asked, context: RouteContext): Document | FaultAnswer {
  const symbols = listOf(fields, "symbols");
  if (symbols.length === 0) return problem(400, "symbols is required");
  const feed = stockFeed(fields, context.plan);
  if (typeof feed !== "string") return feed;
  const malformed = symbols.find((symbol) => !WELL_FORMED.test(symbol));
  if (malformed !== undefined) return problem(400, `code=400, message=invalid symbol: ${malformed}`);
  const found = symbols.flatMap((symbol): [string, Value][] => {
    const underlying = symbol === inCapitals(symbol) ? underlyingOf(symbol, context) : null;
    // No index has a level here (403 "insufficient grants" elsewhere).
    if (!underlying || underlying.type === "index") return [];
    return [[symbol, context.snapshots.stock(underlying, feed, at)]];
  });
  return Object.fromEntries(found);
}

/** Without a feed it is the best that the plan has. */
function stockFeed(fields: URLSearchParams, plan: Plan): StockFeed | FaultAnswer {
  const feed = fields.get("feed") ?? (plan === "plus" ? "sip" : "iex");
  if (feed === "sip") return plan === "plus" ? feed : NO_SIP;
  return feed === "iex" || feed === "delayed_sip" ? feed : problem(400, `invalid feed: ${feed}`);
}

function optionFeed(fields: URLSearchParams, plan: Plan): OptionFeed | FaultAnswer {
  const feed = fields.get("feed") ?? (plan === "plus" ? "opra" : "indicative");
  if (feed === "opra") return plan === "plus" ? feed : NO_OPRA;
  return feed === "indicative" ? feed : problem(400, `invalid feed: ${feed}`);
}

function contractList({ fields, at }: Asked, context: RouteContext): Document | FaultAnswer {
  const symbols = listOf(fields, "symbols");
  if (symbols.length === 0) return problem(400, "symbols is required");
  // Assumed: the words.
  if (symbols.length > MOST_CONTRACTS) return problem(400, `too many symbols: ${symbols.length}`);
  const found = symbols.flatMap((symbol) => contractOfSymbol(symbol, context, at) ?? []);
  return snapshotPage(found, { fields, at }, context);
}

/** An index is asked for by root: its own symbol has the contracts of its own root alone. */
function chain({ fields, at, below }: Asked, context: RouteContext): Document | FaultAnswer {
  const [underlying, root] = underlyingOfRoot(inCapitals(below), context);
  const date = fields.get("expiration_date");
  if (date !== null && !isDateText(date)) return problem(400, `invalid expiration_date: ${date}`);
  const isAsked = (one: string): boolean => isInBounds(one, fields) && (date === null || date === one);
  const dates = underlying
    ? new Set(expirationsOf(underlying, at).map((one) => one.date))
    : new Set<string>();
  const found = [...dates].filter(isAsked).flatMap((one) => (underlying ? chainOf(underlying, one, at) : []));
  const wanted = fields.get("root_symbol") ?? root;
  const type = fields.get("type");
  return snapshotPage(
    found.filter(
      (one) =>
        (wanted === null || one.expiration.root === wanted) &&
        (type === null || one.optionType.toLowerCase() === type),
    ),
    { fields, at, adjusted: adjustedOf(underlying, date, context) },
    context,
  );
}

/** A contract of another root in the chain: it has a quote and no greeks. */
function adjustedOf(
  underlying: Underlying | null,
  date: string | null,
  { adjusted }: RouteContext,
): string[] {
  const symbol = underlying ? adjusted[underlying.symbol] : undefined;
  const expiration = symbol && /(\d\d)(\d\d)(\d\d)[CP]\d{8}$/.exec(symbol);
  return symbol && expiration && date === `20${expiration.slice(1, 4).join("-")}` ? [symbol] : [];
}

function underlyingOfRoot(root: string, context: RouteContext): [Underlying | null, string | null] {
  const further = Object.entries(context.manyRoots).find(([, { furtherRoots }]) =>
    furtherRoots.includes(root),
  );
  const underlying = underlyingOf(further?.[0] ?? root, context);
  return [underlying, underlying?.type === "index" ? root : null];
}

function isInBounds(date: string, fields: URLSearchParams): boolean {
  const [from, to] = [fields.get("expiration_date_gte"), fields.get("expiration_date_lte")];
  return (from === null || date >= from) && (to === null || date <= to);
}

type PageOptions = { fields: URLSearchParams; at: Date; adjusted?: readonly string[] };

/** By symbol; the token looks like base64 of the last symbol of the page before, and is not to be read. */
function snapshotPage(
  found: readonly Contract[],
  { fields, at, adjusted = [] }: PageOptions,
  context: RouteContext,
): Document | FaultAnswer {
  const feed = optionFeed(fields, context.plan);
  if (typeof feed !== "string") return feed;
  const limit = pageLimit(fields, PAGE);
  if (limit === null) return problem(400, `invalid limit: ${fields.get("limit")}`);
  const token = fields.get("page_token");
  if (token === "null") return problem(400, "invalid page_token");
  const after = token ? Buffer.from(token, "base64").toString() : "";
  const all = [
    ...found.map((one): [string, () => Value] => [
      one.symbol,
      () => context.snapshots.contract(one, feed, at),
    ]),
    ...adjusted.map((symbol): [string, () => Value] => [symbol, () => adjustedSnapshot(at)]),
  ].sort(([one], [other]) => (one < other ? -1 : 1));
  const rest = all.filter(([symbol]) => symbol > after);
  const size = Math.min(limit, context.mostOfAPage);
  const page = rest.slice(0, size);
  const last = page.at(-1)?.[0] ?? "";
  return {
    next_page_token: rest.length > size ? Buffer.from(last).toString("base64") : null,
    snapshots: Object.fromEntries(page.map(([symbol, made]) => [symbol, made()])),
  };
}

function adjustedSnapshot(at: Date): Value {
  const t = `${at.toISOString().slice(0, 19)}Z`;
  const [as, bs] = [number(82), number(86)];
  return { latestQuote: { ap: number("9.5"), as, ax: "N", bp: number(7), bs, bx: "X", c: " ", t } };
}

/** @returns null: it is no limit that is taken */
function pageLimit(fields: URLSearchParams, { usual, most }: { usual: number; most: number }): number | null {
  const asked = Number(fields.get("limit") ?? usual);
  return Number.isInteger(asked) && asked >= 1 && asked <= most ? asked : null;
}

function contracts({ fields, at }: Asked, context: RouteContext): Document | FaultAnswer {
  const names = listOf(fields, "underlying_symbols");
  const underlyings = names.map((name) => ({
    name,
    underlying: WELL_FORMED.test(name) ? underlyingOf(name, context) : null,
  }));
  const unknown = underlyings.filter(({ underlying }) => !underlying || underlying.roots.length === 0);
  if (unknown.length > 0)
    return problem(
      422,
      `invalid underlying symbols: ${unknown.map(({ name }) => name).join(",")}`,
      42_210_000,
    );
  const limit = pageLimit(fields, CONTRACTS_PAGE);
  if (limit === null) return problem(422, "limit must be less than 10000", 42_210_000);
  const isAsked = contractWindow(fields, exchangeDate(at));
  const all = underlyings.flatMap(({ underlying }) =>
    underlying
      ? [...new Set(expirationsOf(underlying, at).map(({ date }) => date))]
          .filter(isAsked)
          .flatMap((date) => chainOf(underlying, date, at))
      : [],
  );
  const from = Number(Buffer.from(fields.get("page_token") ?? "", "base64").toString() || 0);
  const next = from + Math.min(limit, context.mostOfAList);
  return {
    option_contracts: all.slice(from, next).map((one) => writtenContract(one, at)),
    next_page_token: next < all.length ? Buffer.from(String(next)).toString("base64") : null,
  };
}

/** Without a date only what expires up to the next weekend comes. */
function contractWindow(fields: URLSearchParams, today: string): (date: string) => boolean {
  const date = fields.get("expiration_date");
  const isBounded = [...fields.keys()].some((name) => name.startsWith("expiration_date"));
  const weekend = addDays(today, (7 + DAY.saturday - weekdayOf(today)) % 7);
  return (one) =>
    isBounded ? (date === null || date === one) && isInBounds(one, fields) : one >= today && one <= weekend;
}

/** Numbers are text; the open interest is of the day before, and missing for a quarter of the contracts. */
function writtenContract({ symbol, underlying, expiration, optionType, strike }: Contract, at: Date): Value {
  const seed = seedOf(symbol);
  const yesterday = addDays(exchangeDate(at), -1);
  const hasInterest = seed % 4 !== 0;
  const type = optionType.toLowerCase();
  return {
    id: uuidOf(symbol),
    symbol,
    name: `${underlying.symbol} ${expiration.date} ${strike} ${optionType === "CALL" ? "Call" : "Put"}`,
    status: "active",
    tradable: true,
    expiration_date: expiration.date,
    root_symbol: expiration.root,
    underlying_symbol: underlying.symbol,
    underlying_asset_id: uuidOf(underlying.symbol),
    type,
    style: underlying.type === "index" ? "european" : "american",
    strike_price: strike,
    multiplier: "100",
    size: "100",
    open_interest: hasInterest ? String(openInterest(at, seed)) : null,
    open_interest_date: hasInterest ? yesterday : null,
    close_price: null,
    close_price_date: null,
    ppind: underlying.type !== "index",
  };
}

function uuidOf(text: string): string {
  return `00000000-0000-4000-8000-${String(seedOf(text) >>> 0).padStart(12, "0")}`;
}

function listOf(fields: URLSearchParams, name: string): string[] {
  return [...new Set((fields.get(name) ?? "").split(",").filter(Boolean))];
}
