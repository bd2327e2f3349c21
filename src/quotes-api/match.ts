/** Which answered instrument belongs to which that was asked for: by name, never by place (field notes, "Answers"). */
import { type InstrumentKey, instrumentName, option, security } from "../market/instrument.ts";
import type { InstrumentQuote } from "./document.ts";
import { canonicalDecimal } from "./decimal.ts";
import type { ReadItem } from "./readDocument.ts";

/** What became of one instrument. `stored` carries its quote; the others say why there is none. */
export type Matched =
  | { fate: "stored"; name: string; item: InstrumentQuote }
  | { fate: "unknown"; name: string }
  | { fate: "absent"; name: string }
  | { fate: "dead"; name: string | null; reason: DeadReason; detail: string; fragment: string };

/** Why a piece of an answer could not become a row. */
export type DeadReason = "malformed" | "not_asked" | "answered_twice";

/**
 * @param asked what the call named; null when only the service knows (a watchlist), then everything is accepted
 * @returns one entry for each asked instrument, in the order asked, then dead entries for the rest of the answer
 */
export function matchAnswer(asked: readonly InstrumentKey[] | null, items: readonly ReadItem[]): Matched[] {
  const wanted = asked && new Map(asked.map((key) => [canonicalName(key), instrumentName(key)]));
  const names = wanted && new Set(wanted.values());
  const found = new Map<string, Matched>();
  const rest: Matched[] = [];
  for (const item of items) {
    const matched = fateOf(item, wanted);
    const key = matched.name;
    if (key === null || (names && !names.has(key))) rest.push(matched);
    else if (!found.has(key)) found.set(key, matched);
    else if (!sameItem(found.get(key), matched)) {
      rest.push({
        fate: "dead",
        name: key,
        reason: "answered_twice",
        detail: "a second, different quote",
        fragment: item.fragment,
      });
    }
  }
  const firsts = names ? [...names].map((name) => found.get(name) ?? absent(name)) : [...found.values()];
  return [...firsts, ...rest];
}

function absent(name: string): Matched {
  return { fate: "absent", name };
}

/** `name` is the asked name where the item was asked for. */
function fateOf(read: ReadItem, wanted: ReadonlyMap<string, string> | null): Matched {
  if (!read.ok) {
    const name = read.symbol === null ? null : nameOfMalformed(read.symbol, wanted);
    return { fate: "dead", name, reason: "malformed", detail: read.problem, fragment: read.fragment };
  }
  const answered = canonicalName(keyOf(read.item));
  const name = wanted ? (wanted.get(answered) ?? onlyOptionOf(read.item, wanted)) : answered;
  if (name === undefined) {
    return {
      fate: "dead",
      name: answered,
      reason: "not_asked",
      detail: "the call did not ask for it",
      fragment: read.fragment,
    };
  }
  return read.item.unknownSymbol ? { fate: "unknown", name } : { fate: "stored", name, item: read.item };
}

/**
 * A malformed item still tells its symbol. In the option form one contract was asked for, so that symbol names it
 * when it is the underlying's.
 */
function nameOfMalformed(symbol: string, wanted: ReadonlyMap<string, string> | null): string {
  if (!wanted || wanted.has(symbol)) return symbol;
  const contracts = [...wanted.values()].filter((name) => name.startsWith(`${symbol}:`));
  return contracts.length === 1 && contracts[0] !== undefined ? contracts[0] : symbol;
}

/**
 * An unknown contract may come back with nothing but its underlying's symbol; when one option alone was asked for,
 * that is it. A known quote is never matched so: a price must carry its contract's name.
 */
function onlyOptionOf(item: InstrumentQuote, wanted: ReadonlyMap<string, string>): string | undefined {
  if (!item.unknownSymbol || wanted.size !== 1) return undefined;
  const [name] = wanted.values();
  return name?.startsWith(`${item.instrument.symbol}:`) ? name : undefined;
}

/** The key of an answered instrument. */
export function keyOf({ instrument }: InstrumentQuote): InstrumentKey {
  const { symbol, expiration, optionType, strike } = instrument;
  if (expiration === null || optionType === null || strike === null) return security(symbol);
  return option({ underlying: symbol, expiration, optionType, strike: canonicalDecimal(strike) });
}

function canonicalName(key: InstrumentKey): string {
  return instrumentName(key.kind === "option" ? { ...key, strike: canonicalDecimal(key.strike) } : key);
}

function sameItem(first: Matched | undefined, second: Matched): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}
