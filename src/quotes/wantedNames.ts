/** By which names an item of an answer is found among what was asked for. Pure. */
import { inCapitals, type InstrumentKey, instrumentName, option } from "../market/instrument.ts";
import { rootedSymbol, rootOf } from "../market/root.ts";
import type { ReadItem } from "./document.ts";
import { keyOf, keyText } from "./keyText.ts";

/**
 * Names of what was asked for, by `keyText`. `inCapitals`: the same in capitals, made when an item is not found
 * otherwise.
 */
export type WantedNames = {
  names: ReadonlyMap<string, string>;
  inCapitals: () => ReadonlyMap<string, string>;
  keys: ReadonlyMap<string, InstrumentKey>;
  /** Contracts whose root no item says, by the text of the same contract without a root. Mostly there are none. */
  rooted: ReadonlyMap<string, readonly string[]>;
};

export function wantedOf(asked: readonly InstrumentKey[], items: readonly ReadItem[]): WantedNames {
  const names = new Map(asked.map((key) => [keyText(key), instrumentName(key)]));
  let made: ReadonlyMap<string, string> | null = null;
  const make = () => new Map([...names].map(([text, name]) => [inCapitals(text), name]));
  const keys = new Map(asked.map((key) => [instrumentName(key), key]));
  return { names, inCapitals: () => (made ??= make()), keys, rooted: rootedNames(keys, items) };
}

function rootedNames(
  keys: ReadonlyMap<string, InstrumentKey>,
  items: readonly ReadItem[],
): ReadonlyMap<string, readonly string[]> {
  const rooted = new Map<string, string[]>();
  const withRoots = [...keys].filter(([, key]) => key.kind === "option" && key.root !== undefined);
  if (withRoots.length === 0) return rooted;
  const said = new Set(items.flatMap((item) => (item.ok ? byRoot(keyOf(item.item)) : [])));
  for (const [name, key] of withRoots) {
    if (key.kind !== "option" || said.has(byRoot(key))) continue;
    const text = inCapitals(keyText({ ...key, root: undefined }));
    rooted.set(text, [...(rooted.get(text) ?? []), name]);
  }
  return rooted;
}

function byRoot(key: InstrumentKey): string {
  return inCapitals(key.kind === "option" ? keyText(byRootAlone(key)) : keyText(key));
}

function byRootAlone(key: Extract<InstrumentKey, { kind: "option" }>): InstrumentKey {
  return option({ ...key, underlying: rootOf(key), root: undefined });
}

/** By its letters as they are, else in whatever case. */
export function nameOf(key: InstrumentKey, wanted: WantedNames): string | undefined {
  const text = keyText(key);
  return wanted.names.get(text) ?? wanted.inCapitals().get(inCapitals(text));
}

/**
 * The asked name of an answered contract, and others that it may be as well, because its answer does not say the root.
 * A contract is also found by its root alone, and BRKB is BRK.B.
 */
export function contractNames(
  key: Extract<InstrumentKey, { kind: "option" }>,
  wanted: WantedNames,
): string[] {
  const others = key.root === undefined ? (wanted.rooted.get(inCapitals(keyText(key))) ?? []) : [];
  const named = [nameOf(key, wanted), ...others].filter((name) => name !== undefined);
  if (named.length > 0) return named;
  const alias =
    key.root === undefined
      ? option({ ...key, ...rootedSymbol(inCapitals(key.underlying)) })
      : byRootAlone(key);
  const aliased = nameOf(alias, wanted);
  return aliased === undefined ? [] : [aliased];
}
