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

const changed = (value: number | null, by: (value: number) => number): number | null =>
  value === null ? null : by(value);

/** All of them, from the outside of the table to its middle. */
export const COLUMNS: readonly Column[] = [
  column(["volume", "Volume", "Contracts traded in the session"], ({ volume }) => thousands(volume), "dim"),
  priced(["last", "Last", "Price of the last trade"], "last"),
  volatility("iv-bid", "IV bid", "ivBid"),
  volatility("iv", "IV", "ivMid"),
  volatility("iv-ask", "IV ask", "ivAsk"),
  column(["delta", "Delta", "Change of the price for 1 of the underlying"], ({ delta }) => fixed(delta, 3)),
  column(
    ["service-delta", "Δ service", "The service's own delta"],
    ({ serviceDelta }) => fixed(serviceDelta === null ? null : Number(serviceDelta), 3),
    "dim",
  ),
  column(["gamma", "Gamma", "Change of delta for 1 of the underlying"], ({ gamma }) => fixed(gamma, 4)),
  column(["vega", "Vega", "Change of the price for one point of volatility"], ({ vega }) =>
    fixed(
      changed(vega, (each) => each / 100),
      3,
    ),
  ),
  column(["theta", "Theta", "Change of the price in a day that passes"], ({ theta }) =>
    fixed(
      changed(theta, (each) => each / YEAR_DAYS),
      3,
    ),
  ),
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

/** The chosen ones in their order. @param chosen keys between commas, as in the address; the empty text: the usual ones */
export function columnsOf(chosen: string, layout: "wide" | "narrow"): Column[] {
  const wanted = chosen.split(",");
  const found = COLUMNS.filter(({ key }) => wanted.includes(key));
  return found.length > 0 ? found : COLUMNS.filter(({ key }) => DEFAULTS[layout].includes(key));
}
