/**
 * Finds the symbol that makes a whole call fail, without asking a failing service over and over.
 *
 * A call is whole -> probed -> searched, or given up:
 * - whole: it failed. One symbol of it, the one seen last, is asked alone; the rest waits for the outcome.
 * - probed: when the probe fails too, the service is in doubt: all of it is missed, and nothing is probed again for
 *   1 slot, 2, 4 ... or until any call is answered. When it is answered, the rest is searched.
 * - searched: halves of it are asked, and halves of those that fail, until a symbol that fails stands alone: the
 *   culprit. After `SEARCH_CALLS` the remainder is given up until the next slot.
 */
import { halved, type PlannedCall, slotMsOf, symbolCount, withSymbols } from "./callPlan.ts";

type Verdict =
  | { kind: "ask"; calls: PlannedCall[] }
  /** What these calls asked for is missed. */
  | { kind: "give_up"; calls: PlannedCall[] }
  /** It fails alone, while others are answered. */
  | { kind: "culprit" };

/** Most calls that one search costs: enough for two culprits among 325. */
const SEARCH_CALLS = 32;

/** Longest time without a probe while the service is in doubt, in ms. */
const LONGEST_DOUBT_MS = 3_600_000;

export class BadSymbolSearch {
  #probing = false;
  #doubts = 0;
  #notBeforeMs = -Infinity;
  /** Symbols whose probe failed: perhaps culprits themselves, so others are tried first. */
  readonly #tried = new Set<string>();

  /** A call failed: 400, an unreadable answer, or a 5xx that stays. `nowMs`: on a clock that nobody sets. */
  failed(planned: PlannedCall, nowMs: number, lastSeenMs: (symbol: string) => number): Verdict {
    const { part } = planned;
    if (part?.kind === "probe") return this.#probeFailed(planned, part.rest, nowMs);
    if (part?.kind === "search") return searchOn(planned, part.search);
    if (symbolCount(planned) < 2 || this.#probing || nowMs < this.#notBeforeMs)
      return { kind: "give_up", calls: [planned] };
    this.#probing = true;
    return { kind: "ask", calls: [this.#probeOf(planned, lastSeenMs)] };
  }

  /** A call was answered with quotes. Gives the calls of a search that may begin now. */
  answered({ part }: PlannedCall): PlannedCall[] {
    this.#doubts = 0;
    this.#notBeforeMs = -Infinity;
    if (part?.kind !== "probe") return [];
    this.#probing = false;
    this.#tried.clear();
    const search = { callsLeft: SEARCH_CALLS };
    return (halved(part.rest) ?? [part.rest]).map((call) => ({ ...call, part: { kind: "search", search } }));
  }

  /** A call came to another end: it was missed, or not authorized. Gives the call that waited for it. */
  ended({ part }: PlannedCall): PlannedCall[] {
    if (part?.kind !== "probe") return [];
    this.#probing = false;
    return [part.rest];
  }

  #probeOf(planned: PlannedCall, lastSeenMs: (symbol: string) => number): PlannedCall {
    const symbols = planned.call.form === "symbols" ? planned.call.symbols : [];
    if (symbols.every((symbol) => this.#tried.has(symbol))) this.#tried.clear();
    const untried = symbols.filter((symbol) => !this.#tried.has(symbol));
    const probe = untried.reduce((best, symbol) => (lastSeenMs(symbol) > lastSeenMs(best) ? symbol : best));
    const rest = withSymbols(
      planned,
      symbols.filter((symbol) => symbol !== probe),
    );
    return { ...withSymbols(planned, [probe]), part: { kind: "probe", rest } };
  }

  #probeFailed(planned: PlannedCall, rest: PlannedCall, nowMs: number): Verdict {
    this.#probing = false;
    this.#doubts += 1;
    const waitMs = slotMsOf(planned) * (2 ** (this.#doubts - 1) + 0.5);
    this.#notBeforeMs = nowMs + Math.min(waitMs, LONGEST_DOUBT_MS);
    if (planned.call.form === "symbols") for (const symbol of planned.call.symbols) this.#tried.add(symbol);
    return { kind: "give_up", calls: [planned, rest] };
  }
}

function searchOn(planned: PlannedCall, search: { callsLeft: number }): Verdict {
  const halves = halved(planned);
  if (!halves) return { kind: "culprit" };
  if (search.callsLeft < halves.length) return { kind: "give_up", calls: [planned] };
  search.callsLeft -= halves.length;
  return { kind: "ask", calls: halves };
}
