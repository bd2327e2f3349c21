/** One instrument above its chart: its name, its newest quote, and where that comes from. */
import type { QuoteRow } from "../../api/types.ts";
import { OfOneSource } from "./notes.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { direction, thousands, percent, price, signed } from "../../../figures.ts";
import { age } from "../lib/format.ts";
import { several } from "../lib/store.ts";
import { placesOfRow } from "../lib/watchColumns.ts";

export function Header({ row }: { row: QuoteRow }) {
  const { last, change, pctChange, bid, ask, bidSize, askSize, spread, volume, observedAt, delta } = row;
  const places = placesOfRow(row);
  return (
    <dl class="ticker row">
      <div class="ticker-last">
        <dt>Last</dt>
        <dd>{price(last, places)}</dd>
      </div>
      <div>
        <dt>Change</dt>
        <dd class={direction(change)}>
          {signed(price(change, places))}{" "}
          <small>{pctChange === null ? "" : signed(percent(pctChange))}</small>
        </dd>
      </div>
      <div>
        <dt>Bid × size</dt>
        <dd>
          {price(bid, places)} <small>× {thousands(bidSize)}</small>
        </dd>
      </div>
      <div>
        <dt>Ask × size</dt>
        <dd>
          {price(ask, places)} <small>× {thousands(askSize)}</small>
        </dd>
      </div>
      <div>
        <dt>Spread</dt>
        <dd>{price(spread, places)}</dd>
      </div>
      <div>
        <dt>Volume</dt>
        <dd>{thousands(volume)}</dd>
      </div>
      {delta !== null && (
        <div>
          <dt>Delta</dt>
          <dd>{thousands(delta)}</dd>
        </div>
      )}
      <div>
        <dt>Age</dt>
        <dd>{age(observedAt, nowMs.value)}</dd>
      </div>
      <Origin row={row} />
    </dl>
  );
}

function Origin({ row }: { row: QuoteRow }) {
  return (
    <>
      {(several.value || row.delayed) && (
        <div>
          <dt>Source</dt>
          <dd>
            <OfOneSource source={row.source} name={row.sourceName} />{" "}
            {row.delayed && <span class="tag">delayed</span>}
          </dd>
        </div>
      )}
    </>
  );
}
