/** What the fakes list: stocks and indexes of the simulated market, and the option contracts on them. */
import { createCalendar } from "../../src/market/calendar/tradingCalendar.ts";
import { contractDate, nextExpirations } from "../../src/market/expirations.ts";
import { inCapitals, type OptionContract, type OptionType } from "../../src/market/instrument.ts";
import { occSymbol, parseOccSymbol } from "../../src/market/occ.ts";
import { rootedSymbol, rootOf } from "../../src/market/root.ts";
import { remembered } from "../../src/ground/remembered.ts";
import { type Company, companyOf } from "../../src/serve/simulated/companies.ts";

/** An underlying whose contracts have several roots. */
export type ManyRoots = {
  /** The listing of the simulated market whose prices it has. */
  pricesOf: string;
  /** Further roots, such as SPXW beside SPX. */
  furtherRoots: readonly string[];
};

/** The simulated market has no index: each has the prices of a fund. Roots: documentation.tradier.com, option symbols. */
export const MANY_ROOTS: Readonly<Record<string, ManyRoots>> = {
  SPX: { pricesOf: "SPY", furtherRoots: ["SPXW"] },
  NDX: { pricesOf: "QQQ", furtherRoots: ["NDXP"] },
  RUT: { pricesOf: "SPY", furtherRoots: ["RUTW"] },
};

/** Default of `mostStrikes`. Assumed: a chain of an active stock has about as many. */
export const MOST_STRIKES = 90;

export type ListingRules = {
  /** Underlyings whose contracts have several roots, by their symbol. */
  manyRoots: Readonly<Record<string, ManyRoots>>;
  /** The most strikes of an expiration; one with fewer is written sooner. */
  mostStrikes: number;
};

export type Underlying = {
  symbol: string;
  type: "stock" | "etf" | "index";
  /** The company or fund of the simulated market that has its prices. */
  company: Company;
  /** Its own root first; none: it has no options. */
  roots: readonly string[];
  /** All strikes of each expiration, ascending decimal text. */
  strikes: readonly string[];
};

type ExpirationType = "standard" | "weeklys";

export type Expiration = { date: string; root: string; type: ExpirationType };

export type Contract = {
  /** OCC symbol. */
  symbol: string;
  underlying: Underlying;
  expiration: Expiration;
  optionType: OptionType;
  strike: string;
  /** The contract of the simulated market that has its prices. */
  priced: OptionContract;
};

const FUNDS = new Set(["SPY", "QQQ"]);

/** Assumed: as many expirations as an active stock has, of which 18 were seen: so many Fridays, and third Fridays. */
const LISTED = { weekly: 6, monthly: 12 } as const;

/** Strikes lie between these parts of the price that the simulated walk returns to. */
const STRIKES = { least: 0.5, most: 2 } as const;

/** Distances of strikes, dollars; all are multiples of 0.5, as the simulated market has them. */
const STEPS = [0.5, ...[1, 10, 100, 1_000, 10_000].flatMap((size) => [size, 2.5 * size, 5 * size])];

const calendar = createCalendar();

/** The dates listed on a day, ascending, and which of them are third Fridays. @param today see `contractDate` */
const datesListed = remembered(1_000, (today: string) => {
  const monthly = nextExpirations({ kind: "monthly", next: LISTED.monthly }, today, calendar);
  const weekly = nextExpirations({ kind: "weekly", next: LISTED.weekly }, today, calendar);
  return { dates: [...new Set([...weekly, ...monthly])].sort(), monthly: new Set(monthly) };
});

/**
 * The stock, fund or index of a symbol; null when it is unknown.
 *
 * Assumed: symbols are not case sensitive.
 */
export function underlyingOf(asked: string, { manyRoots, mostStrikes }: ListingRules): Underlying | null {
  const symbol = inCapitals(asked);
  const many = manyRoots[symbol];
  const company = companyOf(many?.pricesOf ?? symbol);
  if (!company) return null;
  const root = rootOf({ underlying: symbol });
  // OCC symbols with the roots 007 and 1E5 would be read as something else.
  const hasOptions = parseOccSymbol(`${root}300118C00001000`)?.underlying === symbol;
  return {
    symbol,
    type: many && many.pricesOf !== symbol ? "index" : FUNDS.has(symbol) ? "etf" : "stock",
    company,
    roots: hasOptions ? [root, ...(many?.furtherRoots ?? [])] : [],
    strikes: hasOptions ? strikesAt(company.baseCents / 100, mostStrikes) : [],
  };
}

/**
 * The expirations listed at an instant, ascending; a date of two roots twice, the own root first. Where there are further
 * roots, the own root has third Fridays alone, and they have all dates, as SPX and SPXW.
 */
export function expirationsOf({ roots }: Underlying, at: Date): Expiration[] {
  const { dates, monthly } = datesListed(contractDate(at, calendar));
  const [own, ...further] = roots;
  if (own === undefined) return [];
  return dates.flatMap((date): Expiration[] => {
    const isMonthly = monthly.has(date);
    const ofOwn: Expiration[] =
      isMonthly || further.length === 0
        ? [{ date, root: own, type: isMonthly ? "standard" : "weeklys" }]
        : [];
    return [...ofOwn, ...further.map((root): Expiration => ({ date, root, type: "weeklys" }))];
  });
}

/** All contracts of an expiration date, of every root, both types; none when the date is not listed. */
export function chainOf(underlying: Underlying, date: string, at: Date): Contract[] {
  return expirationsOf(underlying, at)
    .filter((expiration) => expiration.date === date)
    .flatMap((expiration) =>
      underlying.strikes.flatMap((strike) =>
        (["PUT", "CALL"] as const).flatMap(
          (optionType) => contractOf(underlying, expiration, { optionType, strike }) ?? [],
        ),
      ),
    );
}

/** The contract of an OCC symbol, as listed at an instant; null when it is not. */
export function contractOfSymbol(occ: string, rules: ListingRules, at: Date): Contract | null {
  const parsed = parseOccSymbol(inCapitals(occ));
  const underlying = parsed && underlyingOf(parsed.underlying, rules);
  if (!parsed || !underlying?.strikes.includes(parsed.strike)) return null;
  const expiration = expirationsOf(underlying, at).find(
    ({ root, date }) => root === rootOf(parsed) && date === parsed.expiration,
  );
  return expiration ? contractOf(underlying, expiration, parsed) : null;
}

/** Null when the contract has no OCC symbol. */
function contractOf(
  underlying: Underlying,
  expiration: Expiration,
  { optionType, strike }: Pick<OptionContract, "optionType" | "strike">,
): Contract | null {
  const { root, date } = expiration;
  const symbol = occSymbol({ ...rootedSymbol(root), expiration: date, optionType, strike });
  if (symbol === null) return null;
  const priced = {
    underlying: underlying.company.symbol,
    expiration: pricedDate(underlying, expiration),
    optionType,
    strike,
  };
  return { symbol, underlying, expiration, optionType, strike, priced };
}

/** Where an underlying has several roots, its own has the prices of a week later: so both of a date and strike differ. */
function pricedDate({ roots }: Underlying, { root, date }: Expiration): string {
  if (roots.length === 1 || root !== roots[0]) return date;
  return nextExpirations({ kind: "weekly", next: 2 }, date, calendar)[1] ?? date;
}

/** Multiples of the finest step with which there are at most so many. @param price dollars */
function strikesAt(price: number, mostStrikes: number): string[] {
  const [least, most] = [STRIKES.least * price, STRIKES.most * price];
  const step = STEPS.find((one) => (most - least) / one < mostStrikes) ?? 50_000;
  const first = Math.ceil(least / step);
  const count = Math.floor(most / step) - first + 1;
  return Array.from({ length: count }, (_, index) => String((first + index) * step));
}
