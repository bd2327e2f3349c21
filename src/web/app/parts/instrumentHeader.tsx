/** One instrument above its chart: its name, its newest quote, and where that comes from. */
import type { QuoteRow } from "../../api/types.ts";
import { Fact } from "./facts.tsx";
import { OfOneSource } from "./notes.tsx";
import { nowMs } from "../lib/pageClock.ts";
import { direction, thousands, percent, price, signed } from "../../../figures.ts";
import { age } from "../lib/format.ts";
import { several } from "../lib/store.ts";
import { placesOfRow } from "../lib/watchColumns.ts";

export function Header({ row }: { row: QuoteRow }) {
  const { last, change, pctChange, bid, ask, bidSize, askSize, spread, volume, observedAt, delta } = row;
  const places = placesOfRow(row);
  const from = (
    <>
      <OfOneSource source={row.source} name={row.sourceName} />{" "}
      {row.delayed && <span class="tag">delayed</span>}
    </>
  );
  return (
    <dl class="ticker row newest">
      <Fact name="Last" value={price(last, places)} />
      <Fact
        name="Change"
        tone={direction(change)}
        value={
          <>
            {signed(price(change, places))}{" "}
            <small>{pctChange === null ? "" : signed(percent(pctChange))}</small>
          </>
        }
      />
      <Fact name="Bid × size" value={sized(price(bid, places), bidSize)} />
      <Fact name="Ask × size" value={sized(price(ask, places), askSize)} />
      <Fact name="Spread" value={price(spread, places)} />
      <Fact name="Volume" value={thousands(volume)} />
      {delta !== null && <Fact name="Delta" value={thousands(delta)} />}
      <Fact name="Age" value={age(observedAt, nowMs.value)} />
      {(several.value || row.delayed) && <Fact name="Source" value={from} />}
    </dl>
  );
}

const sized = (shown: string, size: string | null) => (
  <>
    {shown} <small>× {thousands(size)}</small>
  </>
);
