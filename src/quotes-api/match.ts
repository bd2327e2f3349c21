/** Which answered instrument belongs to which that was asked for: by name, never by place (field notes, "Answers"). */
import { type InstrumentKey, instrumentName, option, security } from "../market/instrument.ts";
import type { InstrumentQuote } from "./document.ts";
import { canonicalDecimal } from "./decimal.ts";
import { LEAF_PATHS } from "./leaves.ts";
import type { ReadItem } from "./readDocument.ts";
import type { OddField } from "./readInstrument.ts";

/**
 * What became of one instrument. `stored` carries its quote, with the fields that could not be read and are null in it;
 * the others say why there is none.
 */
export type Matched =
  | { fate: "stored"; name: string; item: InstrumentQuote; oddFields: readonly OddField[] }
  | { fate: "unknown"; name: string }
  | { fate: "absent"; name: string }
  | { fate: "dead"; name: string | null; reason: DeadReason; detail: string; fragment: string };

/** Why a piece of an answer could not become a row. */
export type DeadReason = "malformed" | "not_asked" | "answered_twice";

/** An item of the answer, and what it is the answer to; null when that cannot be told, or was not asked for. */
type Claim = { key: string | null; matched: Matched; fragment: string };

/**
 * No item is lost for another's sake: of several for one instrument the best is its fate, whatever their order, and each
 * of the others is dead for its own reason.
 *
 * @param asked what the call named; null when only the service knows (a watchlist), then everything is accepted
 * @returns one entry for each asked instrument, in the order asked, then dead entries for the rest of the answer; of
 *   several entries of one name the first is its fate
 */
export function matchAnswer(asked: readonly InstrumentKey[] | null, items: readonly ReadItem[]): Matched[] {
  const wanted = asked && new Map(asked.map((key) => [keyText(key), instrumentName(key)]));
  const claims = items.map((item) => claimOf(item, wanted));
  const best = new Map<string, Claim>();
  for (const claim of claims) {
    const other = claim.key === null ? undefined : best.get(claim.key);
    if (claim.key !== null && (!other || rank(claim) < rank(other))) best.set(claim.key, claim);
  }
  const rest = claims.flatMap((claim): Matched[] => {
    const chosen = claim.key === null ? undefined : best.get(claim.key);
    return chosen === claim ? [] : passedOver(claim, chosen);
  });
  const firsts = wanted
    ? [...new Set(wanted.values())].map((name) => best.get(name)?.matched ?? absent(name))
    : [...best.values()].map(({ matched }) => matched);
  return [...firsts, ...rest];
}

/** The fate of each instrument, without what else the answer held. */
export function fatesOf(matched: readonly Matched[]): Matched[] {
  const named = new Set<string>();
  return matched.filter(({ name }) => name !== null && !named.has(name) && named.add(name));
}

function absent(name: string): Matched {
  return { fate: "absent", name };
}

/** The lower the better: a quote, one with odd fields, that it is not known, that it cannot be read. */
function rank({ matched }: Claim): number {
  if (matched.fate === "stored") return matched.oddFields.length;
  return matched.fate === "unknown" ? LEAF_PATHS.length : Infinity;
}

/** What becomes of an item that is nobody's fate: nothing, when it only repeats what that one says. */
function passedOver({ matched, fragment }: Claim, chosen: Claim | undefined): Matched[] {
  if (matched.fate === "dead") return [matched];
  if (chosen && JSON.stringify(chosen.matched) === JSON.stringify(matched)) return [];
  const detail =
    matched.fate === "unknown" ? "it is called unknown, and has a quote" : "a second, different quote";
  return [{ fate: "dead", name: matched.name, reason: "answered_twice", detail, fragment }];
}

/** @param wanted asked names by `keyText`; null: everything is */
function claimOf(read: ReadItem, wanted: ReadonlyMap<string, string> | null): Claim {
  const { fragment } = read;
  if (!read.ok) {
    const key = wanted && nameOfMalformed(read, wanted);
    const name = key ?? read.symbol;
    return {
      key,
      fragment,
      matched: { fate: "dead", name, reason: "malformed", detail: read.problem, fragment },
    };
  }
  const answered = keyOf(read.item);
  const name = wanted
    ? (wanted.get(keyText(answered)) ?? onlyOptionOf(read.item, wanted))
    : canonicalName(answered);
  if (name === undefined) {
    const dead = { fate: "dead", name: canonicalName(answered), reason: "not_asked" } as const;
    return { key: null, fragment, matched: { ...dead, detail: "the call did not ask for it", fragment } };
  }
  const { item, oddFields } = read;
  const key = wanted ? name : keyText(answered);
  return {
    ...{ key, fragment },
    matched: item.unknownSymbol ? { fate: "unknown", name } : { fate: "stored", name, item, oddFields },
  };
}

/**
 * A malformed item still tells its symbol, and mostly whether it is an option: that names what was asked for when it can
 * be nothing else, the security of this symbol or the only contract of it.
 */
function nameOfMalformed(
  { symbol, isOption }: Extract<ReadItem, { ok: false }>,
  wanted: ReadonlyMap<string, string>,
): string | null {
  if (symbol === null) return null;
  const itself = isOption === true ? undefined : wanted.get(keyText(security(symbol)));
  if (itself !== undefined || isOption === false) return itself ?? null;
  const contracts = [...new Set(wanted.values())].filter((name) => name.startsWith(`${symbol}:`));
  return contracts.length === 1 ? (contracts[0] ?? null) : null;
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
  return instrumentName(canonical(key));
}

/** A text for each instrument, and each its own: a symbol may look like the name of a contract. */
export function keyText(key: InstrumentKey): string {
  return `${key.kind} ${canonicalName(key)}`;
}

function canonical(key: InstrumentKey): InstrumentKey {
  return key.kind === "option" ? { ...key, strike: canonicalDecimal(key.strike) } : key;
}
