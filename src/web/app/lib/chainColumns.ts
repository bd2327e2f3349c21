/** What a chain's table can show of a contract, and what it shows unless other columns are chosen. Pure. */
import type { Contract } from "../../../archive/ask/dashboardTypes.ts";
import { YEAR_DAYS } from "./curves.ts";
import { fixed, NOTHING, thousands } from "../../../figures.ts";

/** A column. `text` is what stands in its cells; `price`: the value is the service's text, point below point. */
export type Column = {
  key: string;
  name: string;
  title: string;
  look: "dim" | "strong" | undefined;
  price?: boolean;
  text: (contract: Contract) => string;
};

type Names = readonly [key: string, name: string, title: string];

const column = ([key, name, title]: Names, text: Column["text"], look?: Column["look"]): Column => ({
  key,
  name,
  title,
  text,
  look,
});

const priced = (names: Names, of: "last" | "bid" | "mid" | "ask", look?: Column["look"]): Column => ({
  ...column(names, (contract) => contract[of] ?? NOTHING, look),
  price: true,
});

const volatility = (key: string, name: string, of: "ivBid" | "ivMid" | "ivAsk"): Column => {
  const where = { ivBid: "at the bid", ivMid: "at the middle of bid and ask", ivAsk: "at the ask" }[of];
  const title = `Implied volatility ${where}, percent a year`;
  const look = of === "ivMid" ? undefined : "dim";
  return column(
    [key, name, title],
    (contract) =>
      fixed(
        changed(contract[of], (iv) => 100 * iv),
        2,
      ),
    look,
  );
};

/** A volatility in percent. @param text a fraction of a year, as a service says it */
export function volatilityText(text: string | null): string {
  return fixed(text === null ? null : 100 * Number(text), 2);
}

type Greek = "delta" | "gamma" | "vega" | "theta";

/** What the service says of a greek, and by how much ours is more: both in the service's units. */
const compared = (of: Greek, letter: string, places: number): Column[] => {
  const name = `${of[0]?.toUpperCase()}${of.slice(1)}` as Capitalize<Greek>;
  const said = ({ [`service${name}` as const]: text }: Contract): number | null =>
    text === null ? null : Number(text);
  return [
    column(
      [`service-${of}`, `${letter} service`, `The service's own ${of}`],
      (contract) => fixed(said(contract), places),
      "dim",
    ),
    column(
      [`${of}-difference`, `${letter} diff.`, `Our ${of} less the service's`],
      (contract) => fixed(contract[`${of}Difference`], places),
      "dim",
    ),
  ];
};

const changed = (value: number | null, by: (value: number) => number): number | null =>
  value === null ? null : by(value);

/** All of them, from the outside of the table to its middle. */
export const COLUMNS: readonly Column[] = [
  column(["volume", "Volume", "Contracts traded in the session"], ({ volume }) => thousands(volume), "dim"),
  column(
    ["oi", "Open int.", "Open interest: contracts that are open, mostly of the session before"],
    ({ openInterest }) => thousands(openInterest),
    "dim",
  ),
  priced(["last", "Last", "Price of the last trade"], "last"),
  volatility("iv-bid", "IV bid", "ivBid"),
  volatility("iv", "IV", "ivMid"),
  volatility("iv-ask", "IV ask", "ivAsk"),
  column(
    ["service-iv", "IV service", "The service's own implied volatility, percent a year"],
    ({ serviceIvMid }) => volatilityText(serviceIvMid),
    "dim",
  ),
  column(
    ["iv-difference", "IV diff.", "Our implied volatility less the service's, in points of a percent"],
    ({ ivDifference }) => fixed(ivDifference === null ? null : 100 * ivDifference, 2),
    "dim",
  ),
  column(["delta", "Delta", "Change of the price for 1 of the underlying"], ({ delta }) => fixed(delta, 3)),
  ...compared("delta", "Δ", 3),
  column(["gamma", "Gamma", "Change of delta for 1 of the underlying"], ({ gamma }) => fixed(gamma, 4)),
  ...compared("gamma", "Γ", 4),
  column(["vega", "Vega", "Change of the price for one point of volatility"], ({ vega }) =>
    fixed(
      changed(vega, (each) => each / 100),
      3,
    ),
  ),
  ...compared("vega", "V", 3),
  column(["theta", "Theta", "Change of the price in a day that passes"], ({ theta }) =>
    fixed(
      changed(theta, (each) => each / YEAR_DAYS),
      3,
    ),
  ),
  ...compared("theta", "Θ", 3),
  column(
    ["moneyness", "S/K", "Moneyness: the underlying's price by the strike"],
    ({ moneyness }) => fixed(moneyness, 3),
    "dim",
  ),
  priced(["bid", "Bid", "Bid"], "bid"),
  priced(["mid", "Mid", "The middle of bid and ask"], "mid", "strong"),
  priced(["ask", "Ask", "Ask"], "ask"),
];

const DEFAULTS = {
  wide: ["volume", "last", "iv", "delta", "bid", "mid", "ask"],
  narrow: ["iv", "delta", "bid", "ask"],
};

/** What is shown besides where there is room, and the service says it of a contract. */
const WHERE_SAID: Readonly<Record<string, (contract: Contract) => boolean>> = {
  oi: ({ openInterest }) => openInterest !== null,
  "service-iv": ({ serviceIvMid }) => serviceIvMid !== null,
  "iv-difference": ({ ivDifference }) => ivDifference !== null,
};

/**
 * The chosen ones in their order.
 *
 * @param chosen keys between commas, as in the address; the empty text: the usual ones
 * @param contracts what the service says of these decides which are usual
 */
export function columnsOf(
  chosen: string,
  layout: "wide" | "narrow",
  contracts: readonly Contract[] = [],
): Column[] {
  const wanted = chosen.split(",");
  const found = COLUMNS.filter(({ key }) => wanted.includes(key));
  if (found.length > 0) return found;
  const isUsual = (key: string): boolean =>
    DEFAULTS[layout].includes(key) || (layout === "wide" && contracts.some((one) => WHERE_SAID[key]?.(one)));
  return COLUMNS.filter(({ key }) => isUsual(key));
}
