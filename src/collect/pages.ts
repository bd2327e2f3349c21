/** Answers that come in pages: what is asked for behind a page, and what all pages hold. Pure. */
import { instrumentName } from "../market/instrument.ts";
import { describeCall, keyOfSymbol, type QuoteCall } from "../quotes/call.ts";
import type { ReadDocument } from "../quotes/document.ts";
import type { MatchedItem } from "../quotes/match.ts";
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

/** What the pages of chains and of lists of expirations hold, from their answers in the order of the journal. */
export class ReadPages<Item> {
  /** By the page that comes behind them. */
  readonly #before = new Map<string, readonly Item[]>();

  /** @returns what all pages hold, with the last one; null: others follow, or the first one is not known */
  add(
    call: QuoteCall,
    { nextPage }: Pick<ReadDocument, "nextPage">,
    held: readonly Item[],
  ): readonly Item[] | null {
    const keyOf = (page: string): string => `${describeCall(call)} ${page}`;
    const page = "page" in call ? call.page : undefined;
    const before = page === undefined ? [] : this.#before.get(keyOf(page));
    if (!before) return null;
    const all = [...before, ...held];
    if (nextPage === undefined) return all;
    this.#before.set(keyOf(nextPage), all);
    return null;
  }
}

/** The expirations of a list, with its last page; null: others follow, or it has none. */
export function listedBy(
  pages: ReadPages<string>,
  call: QuoteCall,
  document: Pick<ReadDocument, "nextPage" | "expirations">,
): string[] | null {
  const all = pages.add(call, document, document.expirations ?? []);
  return all?.length ? [...new Set(all)].sort() : null;
}

/** The fates that the answer to a list decides. What it lacks is not absent where the rest is asked for as a list of its own. */
export function decidedFates(
  matched: readonly MatchedItem[],
  { nextPage }: Pick<ReadDocument, "nextPage">,
): readonly MatchedItem[] {
  const asksForRest = nextPage !== undefined && matched.some(({ fate }) => fate === "stored");
  return asksForRest ? matched.filter(({ fate }) => fate !== "absent") : matched;
}

/** The part of a list that a page of its answer has not brought: a list of its own. Null: the page has brought nothing. */
export function restOfList(planned: PlannedCall, brought: readonly string[]): PlannedCall | null {
  const symbols = planned.call.form === "symbols" ? planned.call.symbols : [];
  const rest = symbols.filter((symbol) => !brought.includes(instrumentName(keyOfSymbol(symbol))));
  return rest.length > 0 && rest.length < symbols.length ? withSymbols(planned, rest) : null;
}
