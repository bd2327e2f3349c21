/** Bars of an instrument as a table. */
import { useState } from "preact/hooks";
import { isOfDates } from "../../../archive/ask/widths.ts";
import type { Bar, BarsView } from "../../api/types.ts";
import { shortSpread } from "../lib/drawing.ts";
import { counted, thousands, NOTHING, price, pricePlaces } from "../../../figures.ts";
import { exchangeTime, ZONE_NAME } from "../lib/format.ts";

const ROWS = 120;

export function BarsTable({ view: { bars, interval, more } }: { view: BarsView }) {
  const [shown, setShown] = useState(ROWS);
  const newest = [...bars].reverse();
  const places = {
    price: pricePlaces(
      bars.flatMap(({ open, high, low, close, bid, ask }) => [open, high, low, close, bid, ask]),
    ),
    spread: pricePlaces(bars.map(({ meanSpread }) => shortSpread(meanSpread))),
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
              {!isOfDates(interval) && <th scope="col">Time ({ZONE_NAME})</th>}
              <th scope="col" class="text session">
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
              <BarRow key={bar.at} bar={bar} daily={isOfDates(interval)} places={places} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="after dim">
        {counted(bars.length, "bar")}
        {". "}
        {more && "Older ones are stored: scroll the chart to its left, or choose a longer range."}{" "}
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
  const ofPrice = (text: string | null): string => price(text, places.price);
  return (
    <tr data-session={bar.session}>
      <td class="text">{bar.date}</td>
      {!daily && <td>{exchangeTime(bar.at, { seconds: false })}</td>}
      <td class="text dim session">{bar.session ?? NOTHING}</td>
      <td>{ofPrice(bar.open)}</td>
      <td>{ofPrice(bar.high)}</td>
      <td>{ofPrice(bar.low)}</td>
      <td class="strong">{ofPrice(bar.close)}</td>
      <td>{ofPrice(bar.bid)}</td>
      <td>{ofPrice(bar.ask)}</td>
      <td class="dim">{price(shortSpread(bar.meanSpread), places.spread)}</td>
      <td class="dim">{thousands(bar.quoteCount)}</td>
      <td>{thousands(bar.volume)}</td>
    </tr>
  );
}
