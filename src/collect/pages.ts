/** Answers that come in pages: what is asked for behind a page. Pure. */
import { instrumentName } from "../market/instrument.ts";
import { keyOfSymbol, type QuoteCall } from "../quotes/call.ts";
import { namesOf } from "./asks.ts";
import { type PlannedCall, withSymbols } from "./callPlan.ts";

/** Assumed: no chain and no list of contracts has more pages; a service that never ends one is stopped here. */
const MOST_PAGES = 40;

type Page = { askedMs: number; isStored: boolean; expirations: readonly string[] };

/** What comes behind a page; null: it has too many, or names itself. */
export function nextPageOf(
  planned: PlannedCall,
  page: string,
  { askedMs, isStored, expirations }: Page,
): PlannedCall | null {
  const { call, pages = { count: 1, firstAskedMs: askedMs, isStored: false, expirations: [] } } = planned;
  if (pages.count >= MOST_PAGES || (call.form !== "chain" && call.form !== "expirations")) return null;
  if (call.page === page) return null;
  return {
    ...planned,
    // Before what is not begun: where not all fits, each would be begun and none ended.
    unseenSinceMs: -Infinity,
    call: { ...call, page },
    pages: {
      ...pages,
      count: pages.count + 1,
      isStored: pages.isStored || isStored,
      expirations: [...pages.expirations, ...expirations],
    },
  };
}

/** A call from its first page on: another account may have other feeds, and knows nothing of a page. */
export function fromFirstPage({ pages: _, ...planned }: PlannedCall): PlannedCall {
  const { call } = planned;
  if (call.form !== "chain" && call.form !== "expirations") return planned;
  const { page: __, ...first } = call;
  return { ...planned, call: first };
}

/** What the pages of calls have held so far, in the order of a journal. */
export class PagesSoFar<Held> {
  readonly #held = new Map<string, Held>();

  /** What the pages before this one have held. @param nothing what those before a first one have. @returns null: they are not known */
  before(call: QuoteCall, nothing: Held): Held | null {
    const page = "page" in call ? call.page : undefined;
    return page === undefined ? nothing : (this.#held.get(keyOfPage(call, page)) ?? null);
  }

  goOn(call: QuoteCall, nextPage: string, held: Held): void {
    this.#held.set(keyOfPage(call, nextPage), held);
  }
}

function keyOfPage(call: QuoteCall, page: string): string {
  return `${namesOf(call).join()} ${page}`;
}

/** The part of a list that a page of its answer has not brought: a list of its own. Null: the page has brought nothing. */
export function restOfList(planned: PlannedCall, brought: readonly string[]): PlannedCall | null {
  const symbols = planned.call.form === "symbols" ? planned.call.symbols : [];
  const rest = symbols.filter((symbol) => !brought.includes(instrumentName(keyOfSymbol(symbol))));
  return rest.length > 0 && rest.length < symbols.length ? withSymbols(planned, rest) : null;
}
