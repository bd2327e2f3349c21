/**
 * The leaves of an `instrumentquote`: every element whose text is read, by its path, and the place that its text has in
 * a list. Reading goes by place: a quote has some thirty leaves, and a backfill some hundred thousand quotes a second.
 */
import {
  DIVIDEND_FIELDS,
  EXTENDED_FIELDS,
  NUMBER_KINDS,
  PRICE_FIELDS,
  valuesByName,
  withElement,
  type DividendField,
  type ExtendedField,
  type PriceField,
} from "../../quotes/fields.ts";
import { type NumberKind, STRIKE } from "../../quotes/units.ts";

/** Texts by place, see `LEAF_PATHS`; undefined where the element is missing. */
export type LeafTexts = readonly (string | undefined)[];

/** Places begin at 1: so they are those of the groups of a pattern that has a group for each leaf (ordinaryItem.ts). */
const paths: string[] = [""];

/** The path of each leaf, by its place; there is none at 0. */
export const LEAF_PATHS: readonly string[] = paths;

function leaf(path: string): number {
  return paths.push(path) - 1;
}

/** Places of the leaves of a `quote` or `undlyquote`; they are all those from `first` up to but not with `end`. */
export type QuoteLeaves = {
  /** 0: there is no element of it. */
  readonly values: Readonly<Record<PriceField | ExtendedField, number>>;
  readonly dividend: Readonly<Record<DividendField, number>>;
  readonly first: number;
  readonly end: number;
};

function quoteLeaves(root: string): QuoteLeaves {
  const first = paths.length;
  const extended = `${root}/extendedquote`;
  const below = (parent: string, fields: readonly { element: string }[]): string[] =>
    fields.map(({ element }) => `${parent}/${element}`);
  // In the order of the names, which is that of an answer.
  const inOrder = [
    ...below(root, withElement(PRICE_FIELDS)),
    ...below(extended, withElement(EXTENDED_FIELDS)),
    ...below(`${extended}/dividenddata`, withElement(DIVIDEND_FIELDS)),
  ].sort();
  const places = new Map(inOrder.map((path) => [path, leaf(path)]));
  const placesBelow = <F extends { name: string; element?: string }>(parent: string, fields: readonly F[]) =>
    valuesByName(fields, ({ element }) => places.get(`${parent}/${element}`) ?? 0);
  return {
    values: { ...placesBelow(root, PRICE_FIELDS), ...placesBelow(extended, EXTENDED_FIELDS) },
    dividend: placesBelow(`${extended}/dividenddata`, DIVIDEND_FIELDS),
    first,
    end: paths.length,
  };
}

export const LEAF = {
  greeksDelta: leaf("greeks/delta"),
  description: leaf("instrument/desc"),
  exchange: leaf("instrument/exch"),
  maturity: leaf("instrument/matdt"),
  putcall: leaf("instrument/putcall"),
  securityType: leaf("instrument/sectyp"),
  strike: leaf("instrument/strkpx"),
  symbol: leaf("instrument/sym"),
  quote: quoteLeaves("quote"),
  underlyingDescription: leaf("underlying/desc"),
  underlyingExchange: leaf("underlying/exch"),
  underlyingSymbol: leaf("underlying/sym"),
  underlyingQuote: quoteLeaves("undlyquote"),
  unknownSymbol: leaf("unknownsymbol"),
} as const;

/** By place: what the number of a leaf may be. */
export const LEAF_NUMBERS: readonly NumberKind[] = leafNumbers();

function leafNumbers(): NumberKind[] {
  const kinds: NumberKind[] = [];
  for (const { values, dividend } of [LEAF.quote, LEAF.underlyingQuote])
    for (const [name, kind] of Object.entries(NUMBER_KINDS))
      kinds[{ ...values, ...dividend }[name as keyof typeof NUMBER_KINDS]] = kind;
  kinds[LEAF.greeksDelta] = NUMBER_KINDS.delta;
  kinds[LEAF.strike] = STRIKE;
  return kinds;
}

/** One element name below `instrumentquote`, in its place: what is known of it, and of those inside. */
export type LeafNode = {
  /** Its place among the leaves; null when it is none. */
  readonly leaf: number | null;
  readonly children: ReadonlyMap<string, LeafNode>;
};

type GrowingNode = { leaf: number | null; children: Map<string, GrowingNode> };

/** All leaves as a tree from `instrumentquote` down. No leaf lies inside of another. */
export const LEAF_TREE: LeafNode = treeOf(LEAF_PATHS);

function treeOf(all: readonly string[]): LeafNode {
  const root: GrowingNode = { leaf: null, children: new Map() };
  all.forEach((path, place) => {
    if (path === "") return;
    let node = root;
    for (const name of path.split("/")) {
      const child = node.children.get(name) ?? { leaf: null, children: new Map() };
      node.children.set(name, child);
      node = child;
    }
    node.leaf = place;
  });
  return root;
}
