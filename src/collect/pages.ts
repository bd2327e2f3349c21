/** Answers that come in pages: what is asked for behind a page. Pure. */
import { instrumentName } from "../market/instrument.ts";
import { keyOfSymbol } from "../quotes/call.ts";
import { type PlannedCall, withSymbols } from "./callPlan.ts";

/** Assumed: no chain and no list of contracts has more pages; a service that never ends one is stopped here. */
const MOST_PAGES = 40;

/** What comes behind a page; null: it has too many. */
export function nextPageOf(
  planned: PlannedCall,
  page: string,
  { isStored, expirations }: { isStored: boolean; expirations: readonly string[] },
): PlannedCall | null {
  const { call, pages = { count: 1, isStored: false, expirations: [] } } = planned;
  if (pages.count >= MOST_PAGES || (call.form !== "chain" && call.form !== "expirations")) return null;
  return {
    ...planned,
    // Before what is not begun: where not all fits, each would be begun and none ended.
    unseenSinceMs: -Infinity,
    call: { ...call, page },
    pages: {
      count: pages.count + 1,
      isStored: pages.isStored || isStored,
      expirations: [...pages.expirations, ...expirations],
    },
  };
}

/** The part of a list that a page of its answer has not brought: a list of its own. Null: the page has brought nothing. */
export function restOfList(planned: PlannedCall, brought: readonly string[]): PlannedCall | null {
  const symbols = planned.call.form === "symbols" ? planned.call.symbols : [];
  const rest = symbols.filter((symbol) => !brought.includes(instrumentName(keyOfSymbol(symbol))));
  return rest.length > 0 && rest.length < symbols.length ? withSymbols(planned, rest) : null;
}
