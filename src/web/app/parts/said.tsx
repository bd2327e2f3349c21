/** What a living service says of one quote: when bid and ask were made, open interest, and what it reckons of an option. */
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { fixed, thousands } from "../../../figures.ts";
import { volatilityText } from "../lib/chainColumns.ts";
import { age } from "../lib/format.ts";
import { nowMs } from "../lib/pageClock.ts";
import { Fact } from "./facts.tsx";
import { Still } from "./still.tsx";

/** How old bid and ask are; a quote that stands still is marked. */
export function Age({ row: { quotedAt, observedAt, stillSince } }: { row: QuoteRow }) {
  return (
    <>
      {age(quotedAt ?? observedAt, nowMs.value)} {stillSince !== null && <Still since={stillSince} />}
    </>
  );
}

/** What the service says of an option. Ours stand beside it in the chain. */
export function SaidFacts({ row }: { row: QuoteRow }) {
  const said: readonly (readonly [name: string, text: string | null, show: (text: string) => string])[] = [
    ["Open interest", row.openInterest, thousands],
    ["IV, service", row.impliedVolatility, (text) => `${volatilityText(text)} %`],
    ["Delta", row.delta, thousands],
    ["Gamma", row.gamma, (text) => fixed(Number(text), 4)],
    ["Theta", row.theta, (text) => fixed(Number(text), 3)],
    ["Vega", row.vega, (text) => fixed(Number(text), 3)],
  ];
  return (
    <>
      {said.map(([name, text, show]) => text !== null && <Fact key={name} name={name} value={show(text)} />)}
    </>
  );
}
