/** What a chain's table shows: its rows, its money, one of three sets of columns, and the stops of its time slider. Pure. */
import type { ChainView, Contract } from "../../../archive/ask/dashboardTypes.ts";
import { MINUTE_MS } from "./format.ts";
import { fixed, NOTHING, thousands } from "../../../ground/figures.ts";
import { isVague, YEAR_DAYS } from "./curves.ts";

export type StrikeRow = { strike: string; call: Contract | null; put: Contract | null };

/** Strikes that are shown below the money, and above it. */
const EACH_SIDE = 12;

/** Calls and puts side by side, ascending by strike. */
export function strikeRows(contracts: readonly Contract[]): StrikeRow[] {
  const rows = new Map<string, StrikeRow>();
  for (const contract of contracts) {
    const row = rows.get(contract.strike) ?? { strike: contract.strike, call: null, put: null };
    rows.set(contract.strike, row);
    if (contract.optionType === "CALL") row.call = contract;
    else row.put = contract;
  }
  return [...rows.values()].sort((a, b) => Number(a.strike) - Number(b.strike));
}

export function contractsOf(rows: readonly StrikeRow[]): Contract[] {
  return rows.flatMap(({ call, put }) => [call, put]).filter((each) => each !== null);
}

/** The strike nearest to the underlying's price; null without one. */
export function atTheMoney(rows: readonly StrikeRow[], underlyingLast: string | null): string | null {
  if (underlyingLast === null) return null;
  const away = ({ strike }: StrikeRow): number => Math.abs(Number(strike) - Number(underlyingLast));
  return [...rows].sort((a, b) => away(a) - away(b))[0]?.strike ?? null;
}

/** The strikes around the money. Where the money is not known, all. */
export function nearTheMoney(rows: readonly StrikeRow[], money: string | null): readonly StrikeRow[] {
  const at = rows.findIndex(({ strike }) => strike === money);
  return at < 0 ? rows : rows.slice(Math.max(0, at - EACH_SIDE), at + EACH_SIDE + 1);
}

/** The slider's stops, epoch ms: a minute each, closed hours left out. The last one is the newest. */
export function stopsOf(spans: ChainView["spans"]): number[] {
  return spans.flatMap(({ from, to }) => {
    const [first, last] = [Date.parse(from), Date.parse(to)];
    const minutes = Math.max(1, Math.ceil((last - first) / MINUTE_MS));
    // A span's last stop is just behind what was observed last, whose time has microseconds.
    return Array.from({ length: minutes }, (_, stop) => Math.min(first + (stop + 1) * MINUTE_MS, last + 1));
  });
}

/** Where the slider stands at an instant: the last stop by then. */
export function stopAt(stops: readonly number[], atMs: number): number {
  return Math.max(
    0,
    stops.findLastIndex((stop) => stop <= atMs),
  );
}

type Text = (contract: Contract) => string;

/** A column. `text` is what stands in its cells. */
type Column = {
  name: string;
  title: string;
  text: Text;
  look?: "dim" | "strong";
  /** The value is the service's text, point below point. */
  price?: boolean;
  /** The value is made of our volatility: dim where that is vague. */
  ofVolatility?: boolean;
  /** The service may say nothing of it; the column stands where it does. */
  said?: boolean;
};

const column = (name: string, title: string, text: Text): Column => ({ name, title, text });

function number(of: keyof Contract, places: number, times = 1): Text {
  return ({ [of]: value }) => fixed(value === null ? null : times * Number(value), places);
}

function priced(of: "last" | "bid" | "mid" | "ask", name: string, title: string): Column {
  return { ...column(name, title, ({ [of]: value }) => value ?? NOTHING), price: true };
}

function volatility(of: keyof Contract, name: string, where: string): Column {
  const title = `Implied volatility ${where}, percent a year`;
  return { ...column(name, title, number(of, 2, 100)), ofVolatility: true };
}

function service(name: string, what: string, text: Text): Column {
  return { ...column(name, `The service's own ${what}`, text), look: "dim", said: true };
}

function difference(contract: Contract): string {
  return isVague(contract) ? NOTHING : number("ivDifference", 2, 100)(contract);
}

const COLUMNS = {
  volume: column("Volume", "Contracts traded in the session", ({ volume }) => thousands(volume)),
  oi: service("Open int.", "count of open contracts", ({ openInterest }) => thousands(openInterest)),
  last: priced("last", "Last", "Price of the last trade"),
  bid: priced("bid", "Bid", "Bid"),
  mid: { ...priced("mid", "Mid", "The middle of bid and ask"), look: "strong" },
  ask: priced("ask", "Ask", "Ask"),
  "iv-bid": volatility("ivBid", "IV bid", "at the bid"),
  iv: volatility("ivMid", "IV %", "at the middle of bid and ask"),
  "iv-ask": volatility("ivAsk", "IV ask", "at the ask"),
  "iv-difference": {
    ...column("Diff.", "IV less the service's, in points of a percent", difference),
    said: true,
  },
  delta: column("Delta", "Change of the price for 1 of the underlying", number("delta", 3)),
  gamma: column("Gamma", "Change of delta for 1 of the underlying", number("gamma", 4)),
  vega: column("Vega", "Change of the price for one point of volatility", number("vega", 3, 1 / 100)),
  theta: column("Theta", "Change of the price in a day that passes", number("theta", 3, 1 / YEAR_DAYS)),
  "service-iv": service("Service %", "implied volatility, percent a year", number("serviceIvMid", 2, 100)),
  "service-delta": service("Δ service", "delta", number("serviceDelta", 3)),
  "service-gamma": service("Γ service", "gamma", number("serviceGamma", 4)),
  "service-vega": service("V service", "vega, for one point of volatility", number("serviceVega", 3)),
  "service-theta": service("Θ service", "theta, of a day", number("serviceTheta", 3)),
} satisfies Record<string, Column>;

type Key = keyof typeof COLUMNS;

const COMPARED = ["iv", "service-iv", "iv-difference", "delta", "service-delta"] as const;

/** From the outside of the table to its middle: where there is room for `few`, and for `many`. */
const SETS = {
  prices: {
    few: ["iv", "delta", "bid", "mid", "ask"],
    many: ["volume", "oi", "last", "iv", "delta", "bid", "mid", "ask"],
  },
  greeks: {
    few: ["iv", "delta", "gamma", "vega", "theta"],
    many: ["iv-bid", "iv", "iv-ask", "delta", "gamma", "vega", "theta", "mid"],
  },
  compare: {
    few: COMPARED,
    many: [...COMPARED, "service-gamma", "service-vega", "service-theta"],
  },
} as const satisfies Record<string, Record<"few" | "many", readonly Key[]>>;

export type SetName = keyof typeof SETS;

export type ChainColumn = Column & { key: Key };

export const SET_NAMES = Object.keys(SETS) as SetName[];

/** The columns of a set. Of those that the service may say nothing of, the ones of which it says something of a contract. */
export function columnsOf(set: SetName, room: "few" | "many", contracts: readonly Contract[]): ChainColumn[] {
  return SETS[set][room]
    .map((key) => ({ ...(COLUMNS[key] as Column), key }))
    .filter(({ said, text }) => !said || contracts.some((contract) => text(contract) !== NOTHING));
}
