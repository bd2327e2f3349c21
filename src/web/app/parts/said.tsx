/** What a living service says of one quote: when bid and ask were made, open interest, and what it reckons of an option. */
import { exchangeMoment, age } from "../lib/format.ts";
import type { QuoteRow } from "../../../archive/ask/dashboardTypes.ts";
import { fixed, percent, thousands } from "../../../ground/figures.ts";
import { nowMs } from "../lib/pageClock.ts";
import { Fact } from "./facts.tsx";

/** @param since when bid and ask were made, ISO 8601 */
export function Still({ since }: { since: string }) {
  return (
    <abbr class="tag still" title={stillText(since)}>
      still
    </abbr>
  );
}

export function stillText(since: string): string {
  return `stands still: bid and ask are of ${exchangeMoment(since)}`;
}

/** How old bid and ask are; a quote that stands still is marked. */
export function Age({ row: { quotedAt, observedAt, stillSince } }: { row: QuoteRow }) {
  return (
    <>
      {age(quotedAt ?? observedAt, nowMs.value)} {stillSince !== null && <Still since={stillSince} />}
    </>
  );
}

const decimals = (places: number) => (text: string) => fixed(Number(text), places);

/** What the service says of an option, in the form of the chain, where ours stand beside it. */
export function SaidFacts({ row }: { row: QuoteRow }) {
  const said: readonly (readonly [name: string, text: string | null, show: (text: string) => string])[] = [
    ["Open interest", row.openInterest, thousands],
    ["IV, service", row.impliedVolatility, (text) => percent(Number(text) * 100)],
    ["Delta", row.delta, decimals(3)],
    ["Gamma", row.gamma, decimals(4)],
    ["Theta", row.theta, decimals(3)],
    ["Vega", row.vega, decimals(3)],
  ];
  return (
    <>
      {said.map(([name, text, show]) => text !== null && <Fact key={name} name={name} value={show(text)} />)}
    </>
  );
}
