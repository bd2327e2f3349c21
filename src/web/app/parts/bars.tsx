/** Bars of an instrument: their chart, whose library is loaded when the first one is drawn, and their table. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Bar, BarsView } from "../../api/types.ts";
import type { Chart } from "../chart/chart.ts";
import { nowMs } from "../lib/pageClock.ts";
import { decimal, exchangeTime, grouped, padded, placesOf, shortDate, ZONE_NAME } from "../lib/format.ts";
import { shownDark } from "../lib/theme.ts";

/** Rows of the table at once. */
const ROWS = 120;

/** @param name of what is drawn; another one, another range or width begins anew */
export function BarsChart({ view, simulated, name }: { view: BarsView; simulated: boolean; name: string }) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Promise<Chart> | null>(null);
  const fitted = useRef("");
  const dark = shownDark.value;
  useEffect(() => {
    const host = element.current;
    if (!host) return;
    const opened = import("../chart/chart.ts").then((drawing) => new drawing.Chart(host));
    chart.current = opened;
    return () => void opened.then((each) => each.remove());
  }, []);
  useEffect(() => {
    void chart.current?.then((each) => {
      each.show({ view, simulated, nowMs: nowMs.peek() }, { fit: fitted.current !== name });
      fitted.current = name;
      element.current?.setAttribute("data-drawn", name);
    });
  }, [view, simulated, name]);
  useEffect(() => void chart.current?.then((each) => each.repaint()), [dark]);
  return (
    <div
      class="chart"
      ref={element}
      role="img"
      aria-label={`Chart of ${name}, ${view.bars.length} bars. The table below has the same figures.`}
    />
  );
}

/** The same bars, newest first. */
export function BarsTable({ view: { bars, interval, more } }: { view: BarsView }) {
  const [shown, setShown] = useState(ROWS);
  const newest = [...bars].reverse();
  const places = {
    price: placesOf(
      bars.flatMap(({ open, high, low, close, bid, ask }) => [open, high, low, close, bid, ask]),
    ),
    spread: placesOf(bars.map(({ meanSpread }) => meanSpread)),
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Bars">
        <table class="bars">
          <caption class="unseen">Bars, newest first</caption>
          <thead>
            <tr>
              <th scope="col" class="text">
                Date
              </th>
              {interval !== "1d" && <th scope="col">Time, {ZONE_NAME}</th>}
              <th scope="col" class="text">
                Session
              </th>
              {["Open", "High", "Low", "Close", "Bid", "Ask", "Mean spread", "Quotes", "Volume"].map(
                (name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {newest.slice(0, shown).map((bar) => (
              <BarRow key={bar.at} bar={bar} daily={interval === "1d"} places={places} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="after">
        {bars.length} bars{more ? "; older sessions are stored as well: choose a longer range" : ""}.{" "}
        {newest.length > shown && (
          <button type="button" onClick={() => setShown(shown + 10 * ROWS)}>
            Show more
          </button>
        )}
      </p>
    </>
  );
}

function BarRow({
  bar,
  daily,
  places,
}: {
  bar: Bar;
  daily: boolean;
  places: { price: number; spread: number };
}) {
  const price = (text: string | null): string => padded(decimal(text), places.price);
  return (
    <tr data-session={bar.session}>
      <td class="text">{shortDate(bar.date)}</td>
      {!daily && <td>{exchangeTime(bar.at, { seconds: false })}</td>}
      <td class="text dim">{bar.session}</td>
      <td>{price(bar.open)}</td>
      <td>{price(bar.high)}</td>
      <td>{price(bar.low)}</td>
      <td class="strong">{price(bar.close)}</td>
      <td>{price(bar.bid)}</td>
      <td>{price(bar.ask)}</td>
      <td class="dim">{padded(shortSpread(bar.meanSpread), places.spread)}</td>
      <td class="dim">{grouped(bar.quoteCount)}</td>
      <td>{grouped(bar.volume)}</td>
    </tr>
  );
}

/** A mean has as many digits as division gives; four decimals are what people compare. */
function shortSpread(meanSpread: string | null): string {
  return meanSpread === null ? decimal(null) : meanSpread.replace(/(\.\d{4})\d+$/, "$1");
}
