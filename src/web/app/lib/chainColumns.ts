/** What a chain's table can show of a contract, and what it shows unless other columns are chosen. Pure. */
import type { Contract } from "../../api/types.ts";
import { YEAR_DAYS } from "./curves.ts";
import { fixed, NOTHING, thousands } from "../../../figures.ts";

/** A column. `text` is what stands in its cells; `price`: the value is the service's text, point below point. */
export type Column = {
  key: string;
  name: string;
  title: string;
  look?: "dim" | "strong";
  price?: boolean;
  text: (contract: Contract) => string;
};

const volatility = (value: number | null): string => fixed(value === null ? null : 100 * value, 2);

/** All of them, from the outside of the table to its middle. */
export const COLUMNS: readonly Column[] = [
  {
    key: "volume",
    name: "Volume",
    title: "Contracts traded in the session",
    look: "dim",
    text: ({ volume }) => thousands(volume),
  },
  {
    key: "last",
    name: "Last",
    title: "Price of the last trade",
    price: true,
    text: ({ last }) => last ?? NOTHING,
  },
  {
    key: "iv-bid",
    name: "IV bid",
    title: "Implied volatility at the bid, percent a year",
    look: "dim",
    text: ({ ivBid }) => volatility(ivBid),
  },
  {
    key: "iv",
    name: "IV",
    title: "Implied volatility at the middle of bid and ask, percent a year",
    text: ({ ivMid }) => volatility(ivMid),
  },
  {
    key: "iv-ask",
    name: "IV ask",
    title: "Implied volatility at the ask, percent a year",
    look: "dim",
    text: ({ ivAsk }) => volatility(ivAsk),
  },
  {
    key: "delta",
    name: "Delta",
    title: "Change of the price for 1 of the underlying",
    text: ({ delta }) => fixed(delta, 3),
  },
  {
    key: "service-delta",
    name: "Δ service",
    title: "The service's own delta",
    look: "dim",
    text: ({ serviceDelta }) => fixed(serviceDelta === null ? null : Number(serviceDelta), 3),
  },
  {
    key: "gamma",
    name: "Gamma",
    title: "Change of delta for 1 of the underlying",
    text: ({ gamma }) => fixed(gamma, 4),
  },
  {
    key: "vega",
    name: "Vega",
    title: "Change of the price for one point of volatility",
    text: ({ vega }) => fixed(vega === null ? null : vega / 100, 3),
  },
  {
    key: "theta",
    name: "Theta",
    title: "Change of the price in a day that passes",
    text: ({ theta }) => fixed(theta === null ? null : theta / YEAR_DAYS, 3),
  },
  {
    key: "moneyness",
    name: "S/K",
    title: "Moneyness: the underlying's price by the strike",
    look: "dim",
    text: ({ moneyness }) => fixed(moneyness, 3),
  },
  {
    key: "bid",
    name: "Bid",
    title: "Bid",
    price: true,
    text: ({ bid }) => bid ?? NOTHING,
  },
  {
    key: "mid",
    name: "Mid",
    title: "The middle of bid and ask",
    price: true,
    look: "strong",
    text: ({ mid }) => mid ?? NOTHING,
  },
  {
    key: "ask",
    name: "Ask",
    title: "Ask",
    price: true,
    text: ({ ask }) => ask ?? NOTHING,
  },
];

const DEFAULTS = {
  wide: ["volume", "last", "iv", "delta", "bid", "mid", "ask"],
  narrow: ["iv", "delta", "bid", "ask"],
};

/** The chosen ones in their order. @param chosen keys between commas, as in the address; the empty text: the usual ones */
export function columnsOf(chosen: string, layout: "wide" | "narrow"): Column[] {
  const wanted = chosen.split(",");
  const found = COLUMNS.filter(({ key }) => wanted.includes(key));
  return found.length > 0 ? found : COLUMNS.filter(({ key }) => DEFAULTS[layout].includes(key));
}
