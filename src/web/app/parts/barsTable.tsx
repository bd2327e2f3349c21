/** Bars of an instrument as a table, newest first. */
import { useState } from "preact/hooks";
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, BarsView } from "../../../archive/ask/dashboardTypes.ts";
import { shortSpread } from "../lib/drawing.ts";
import { counted, thousands, NOTHING, price, pricePlaces } from "../../../figures.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";
import { Table, type TableColumn } from "./table.tsx";

const ROWS = 120;

export function BarsTable({ view }: { view: BarsView }) {
  const [shown, setShown] = useState(ROWS);
  const { bars, more } = view;
  return (
    <>
      <Table
        label="Bars"
        scroll="wide"
        kind="bars"
        columns={columnsOf(view)}
        rows={bars.toReversed().slice(0, shown)}
        keyOf={({ at }) => at}
        attributes={({ session }) => ({ "data-session": session })}
      />
      <p class="after dim">
        {counted(bars.length, "bar")}
        {". "}
        {more && "Older ones are stored: scroll the chart to its left, or choose a longer range."}{" "}
        {bars.length > shown && <button onClick={() => setShown(shown + 10 * ROWS)}>Show more</button>}
      </p>
    </>
  );
}

function columnsOf({ bars, interval }: BarsView): TableColumn<Bar>[] {
  const prices = bars.flatMap(({ open, high, low, close, bid, ask }) => [open, high, low, close, bid, ask]);
  const places = pricePlaces(prices);
  const spreadPlaces = pricePlaces(bars.map(({ meanSpread }) => shortSpread(meanSpread)));
  const ofPrice = (name: string, key: "open" | "high" | "low" | "close" | "bid" | "ask") => ({
    name,
    look: key === "close" ? "strong" : "",
    show: (bar: Bar) => price(bar[key], places),
  });
  const time = {
    name: `Time (${ZONE_NAME})`,
    show: ({ at }: Bar) => exchangeTime(at, { seconds: false }),
  };
  return [
    { name: "Date", kind: "text", show: ({ date }) => date },
    ...(isOfDates(interval) ? [] : [time]),
    { name: "Session", kind: "text session", look: "dim", show: ({ session }) => session ?? NOTHING },
    ofPrice("Open", "open"),
    ofPrice("High", "high"),
    ofPrice("Low", "low"),
    ofPrice("Close", "close"),
    ofPrice("Bid", "bid"),
    ofPrice("Ask", "ask"),
    {
      name: "Mean spread",
      look: "dim",
      show: ({ meanSpread }) => price(shortSpread(meanSpread), spreadPlaces),
    },
    { name: "Quotes", look: "dim", show: ({ quoteCount }) => thousands(quoteCount) },
    { name: "Volume", show: ({ volume }) => thousands(volume) },
  ];
}
