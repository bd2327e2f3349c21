/** Assigns answered instruments to asked ones: by name, never by place (field notes, "Answers"). */
import { inCapitals, type InstrumentKey, instrumentName, looseName, security } from "../market/instrument.ts";
import { rootOf } from "../market/root.ts";
import { askedInstruments, isOfCall, type QuoteCall, type SavedCall } from "./call.ts";
import type { InstrumentQuote, ReadItem, OddField } from "./document.ts";
import { differences, someDifferences } from "./differences.ts";
import { keyOf, canonicalName, keyText } from "./keyText.ts";
import { type WantedNames, wantedOf, nameOf, contractNames } from "./wantedNames.ts";

/**
 * The fate of one instrument. `oddFields` of a stored quote could not be read and are null in it. `answered` of an
 * absent one: an instrument of the answer that nobody asked for, and that is likely the same under another name.
 */
export type MatchedItem =
  | { fate: "stored"; name: string; item: InstrumentQuote; oddFields: readonly OddField[] }
  | { fate: "unknown"; name: string }
  | { fate: "absent"; name: string; answered?: string }
  | { fate: "dead"; name: string | null; reason: DeadReason; detail: string; fragment: string };

export type DeadReason = "malformed" | "not_asked" | "answered_twice";

/**
 * An item of the answer and the asked key it answers; null when that is unknown or was not asked for. `stranger`: the
 * item's own key, which was not asked for.
 */
type Claim = { key: string | null; matched: MatchedItem; read: ReadItem; stranger?: InstrumentKey };

/** Assigns the instruments of an answer to what its call asked for. */
export function matchCall(call: QuoteCall | SavedCall, items: readonly ReadItem[]): MatchedItem[] {
  return matchAnswer(askedInstruments(call), items, (key) => isOfCall(call, key));
}

/**
 * No item is lost for another's sake: of several for one instrument the best is its fate, whatever their order, and
 * each of the others is dead for its own reason. Of two quotes that contradict each other neither is stored, because
 * nothing tells which is that instrument's: both are dead.
 *
 * @param asked what the call named; null when only the service knows (a watchlist)
 * @param belongs what is accepted then. Default: everything
 * @returns one entry for each asked instrument, in the order asked, then dead entries for the rest of the answer; of
 *   several entries of one name the first is its fate
 */
export function matchAnswer(
  asked: readonly InstrumentKey[] | null,
  items: readonly ReadItem[],
  belongs: (key: InstrumentKey) => boolean = () => true,
): MatchedItem[] {
  const wanted = asked && wantedOf(asked, items);
  const claims = items.map((item) => claimOf(item, wanted, belongs));
  const best = new Map<string, Claim>();
  for (const claim of claims) {
    const other = claim.key === null ? undefined : best.get(claim.key);
    if (claim.key !== null && (!other || rank(claim) < rank(other))) best.set(claim.key, claim);
  }
  const torn = contradictions(claims, best);
  const rest = claims.flatMap((claim): MatchedItem[] => {
    const chosen = claim.key === null ? undefined : best.get(claim.key);
    return chosen === claim ? [] : passedOver(claim, chosen, torn.get(claim.key ?? ""));
  });
  const fateOf = (key: string, { matched, read }: Claim): MatchedItem => {
    const detail = torn.get(key);
    return detail === undefined ? matched : answeredTwice({ matched, read }, detail);
  };
  if (!asked || !wanted) return [...best].map(([key, claim]) => fateOf(key, claim)).concat(rest);
  const firsts = [...new Set(wanted.names.values())].map((name): MatchedItem => {
    const claim = best.get(name);
    return claim ? fateOf(name, claim) : { fate: "absent", name };
  });
  return withLikelyPairs([...firsts, ...rest], { asked, claims });
}

/** One fate for each instrument, without the rest of the answer. */
export function fatesOf(matched: readonly MatchedItem[]): MatchedItem[] {
  const named = new Set<string>();
  return matched.filter(({ name }) => name !== null && !named.has(name) && named.add(name));
}

/** Lower is better: a quote, one with odd fields, the word that the symbol is unknown, an unreadable item. */
function rank({ matched }: Claim): number {
  if (matched.fate === "stored") return matched.oddFields.length;
  return matched.fate === "unknown" ? Number.MAX_SAFE_INTEGER : Infinity;
}

/** For each instrument whose quotes contradict the best one: where they differ, for people. */
function contradictions(claims: readonly Claim[], best: ReadonlyMap<string, Claim>): Map<string, string> {
  const torn = new Map<string, string>();
  for (const { key, matched } of claims) {
    const chosen = key === null ? undefined : best.get(key)?.matched;
    if (key === null || torn.has(key) || matched.fate !== "stored" || chosen?.fate !== "stored") continue;
    const odd = [chosen.oddFields.length > 0, matched.oddFields.length > 0] as const;
    const found = chosen === matched ? [] : differences(chosen.item, matched.item, odd);
    if (found.length > 0)
      torn.set(key, `different quotes of it, and nothing tells which is right: ${someDifferences(found)}`);
  }
  return torn;
}

/** What becomes of an item that is no instrument's fate: nothing, when it only repeats the chosen item. */
function passedOver(claim: Claim, chosen: Claim | undefined, torn: string | undefined): MatchedItem[] {
  const { matched } = claim;
  if (matched.fate === "dead") return [matched];
  if (chosen && saysTheSame(chosen.matched, matched)) return [];
  if (matched.fate === "unknown") return [answeredTwice(claim, "it is called unknown, and has a quote")];
  return [answeredTwice(claim, torn ?? "a second quote, with fields that could not be read")];
}

function saysTheSame(a: MatchedItem, b: MatchedItem): boolean {
  if (a.fate !== "stored" || b.fate !== "stored") return a.fate === b.fate;
  return (
    JSON.stringify(a.oddFields) === JSON.stringify(b.oddFields) &&
    differences(a.item, b.item, [false, false]).length === 0
  );
}

function answeredTwice({ matched, read }: Pick<Claim, "matched" | "read">, detail: string): MatchedItem {
  return dead(read, { name: matched.name, reason: "answered_twice", detail });
}

function dead(
  { fragment }: ReadItem,
  why: Pick<Extract<MatchedItem, { fate: "dead" }>, "name" | "reason" | "detail">,
): MatchedItem {
  return { fate: "dead", ...why, fragment };
}

/**
 * Names an unasked instrument next to an absent one that is likely the same. It stores nothing: a price needs the name
 * that was asked for.
 */
function withLikelyPairs(
  matched: readonly MatchedItem[],
  { asked, claims }: { asked: readonly InstrumentKey[]; claims: readonly Claim[] },
): MatchedItem[] {
  const strangers = new Map(
    claims.flatMap(({ stranger }) => (stranger ? [[looseName(stranger), stranger]] : [])),
  );
  if (strangers.size === 0) return [...matched];
  const keys = new Map(asked.map((key) => [instrumentName(key), key]));
  const absentFor = new Map<string, string>();
  const told = matched.map((match): MatchedItem => {
    const key = match.fate === "absent" ? keys.get(match.name) : undefined;
    const stranger = key && strangers.get(looseName(key));
    if (match.fate !== "absent" || !stranger) return match;
    const answered = canonicalName(stranger);
    absentFor.set(answered, match.name);
    return { ...match, answered };
  });
  return told.map((match): MatchedItem => {
    const absent = match.fate === "dead" && match.name !== null ? absentFor.get(match.name) : undefined;
    if (match.fate !== "dead" || match.reason !== "not_asked" || absent === undefined) return match;
    return { ...match, detail: `${NOT_ASKED}; it asked for ${absent}, which is likely the same` };
  });
}

/** Why an instrument of an answer is set aside that is unlike all that was asked for. */
export const NOT_ASKED = "the call did not ask for it";

/** @param wanted null: all that belongs is wanted */
function claimOf(
  read: ReadItem,
  wanted: WantedNames | null,
  belongs: (key: InstrumentKey) => boolean,
): Claim {
  if (!read.ok) {
    const key = wanted && nameOfMalformed(read, wanted);
    const why = { name: key ?? read.symbol, reason: "malformed", detail: read.problem } as const;
    return { key, read, matched: dead(read, why) };
  }
  const answered = keyOf(read.item);
  const [found, other] =
    wanted && answered.kind === "option"
      ? contractNames(answered, wanted)
      : [wanted && nameOf(answered, wanted)];
  if (other !== undefined) {
    const detail = `it does not say whether it is of ${found} or of ${other}`;
    return { key: null, read, matched: dead(read, { name: null, reason: "malformed", detail }) };
  }
  const own = canonicalName(answered);
  const name = wanted ? (found ?? onlyOptionOf(read.item, wanted)) : belongs(answered) ? own : undefined;
  if (name === undefined) {
    const matched = dead(read, { name: own, reason: "not_asked", detail: NOT_ASKED });
    return { key: null, read, stranger: answered, matched };
  }
  const { oddFields } = read;
  const key = wanted ? name : `${answered.kind} ${own}`;
  const isAsAsked = wanted === null || wanted.names.has(keyText(answered));
  const item = isAsAsked ? read.item : namedAs(wanted.keys.get(name), withCapitals(read.item));
  return {
    key,
    read,
    matched: item.unknownSymbol ? { fate: "unknown", name } : { fate: "stored", name, item, oddFields },
  };
}

/** For an item in another case than what was asked for: the archive has one spelling of a symbol. */
function withCapitals(item: InstrumentQuote): InstrumentQuote {
  const { instrument, underlying } = item;
  return {
    ...item,
    instrument: { ...instrument, symbol: inCapitals(instrument.symbol) },
    underlying: underlying && { ...underlying, symbol: inCapitals(underlying.symbol) },
  };
}

/** The item under the asked name, unless the item says the root itself. */
function namedAs(key: InstrumentKey | undefined, item: InstrumentQuote): InstrumentQuote {
  if (key?.kind !== "option" || item.instrument.root !== undefined) return item;
  const symbol = inCapitals(key.underlying);
  return { ...item, instrument: { ...item.instrument, symbol, root: key.root } };
}

/**
 * A malformed item still names its symbol, and mostly says whether it is an option. That names what was asked for when
 * it can be nothing else: the security of this symbol or the only contract of it.
 */
function nameOfMalformed(
  { symbol, isOption }: Extract<ReadItem, { ok: false }>,
  wanted: WantedNames,
): string | null {
  if (symbol === null) return null;
  const itself = isOption === true ? undefined : nameOf(security(symbol), wanted);
  if (itself !== undefined || isOption === false) return itself ?? null;
  const contracts = [...wanted.keys].filter(([, key]) => isContractOf(key, symbol));
  return contracts.length === 1 ? (contracts[0]?.[0] ?? null) : null;
}

/**
 * An unknown contract may come back with nothing but its underlying's symbol: then it is the option that alone was
 * asked for. A known quote is never matched so: a price must carry its contract's name.
 */
function onlyOptionOf(item: InstrumentQuote, { keys }: WantedNames): string | undefined {
  const [asked] = keys;
  if (!item.unknownSymbol || keys.size !== 1 || asked === undefined) return undefined;
  return isContractOf(asked[1], item.instrument.symbol) ? asked[0] : undefined;
}

function isContractOf(key: InstrumentKey, symbol: string): boolean {
  if (key.kind !== "option") return false;
  return [key.underlying, rootOf(key)].some((name) => inCapitals(name) === inCapitals(symbol));
}
