/**
 * An `instrumentquote` as the service writes it, read in a single step by one pattern: its elements in the order of the
 * specification, which is that of the alphabet, each of them or none; without attributes, entities or unknown elements.
 * The strict reader takes many times as long, and reads whatever is written in another way (docs/decisions/two-readers.md).
 */
import { LEAF, LEAF_PATHS, LEAF_TREE, type LeafNode } from "./leaves.ts";

/** Text that is read as it is: no markup, no entity, no line end, nothing that is or may be half a character. */
const TEXT = "[ -%'-;=?-\\ud7ff]*";

const BETWEEN = "[ \\t\\n]*";

/** The group of a leaf has the number of its place: the tree has the leaves in the order of their places. */
const ORDINARY = new RegExp(
  elementPattern("instrumentquote", LEAF_TREE, (leaf) =>
    isOfUnderlying(leaf) || /\/dividenddata\//.test(LEAF_PATHS[leaf] ?? "") ? "empty text" : "absent",
  ),
  "y",
);

function isOfUnderlying(leaf: number): boolean {
  const { first, end } = LEAF.underlyingQuote;
  return leaf >= first && leaf < end;
}

/**
 * What `<name/>` of a leaf is. Any element of a dividend, or of a quote of the underlying, says that there is one, an empty
 * one too. Anywhere else an empty element is as good as an absent one.
 */
type Empty = "absent" | "empty text" | "not ordinary";

function elementPattern(
  name: string,
  { leaf, children }: LeafNode,
  emptyOf: (leaf: number) => Empty,
): string {
  if (leaf === null) {
    const inside = [...children].map(
      ([child, node]) => `(?:${elementPattern(child, node, emptyOf)}${BETWEEN})?`,
    );
    return `<${name}(?:/|>${BETWEEN}${inside.join("")}</${name})>`;
  }
  switch (emptyOf(leaf)) {
    case "absent":
      return `<${name}(?:/|>(${TEXT})</${name})>`;
    case "empty text":
      return `<${name}(?:/(?=>)|>)(${TEXT})(?:</${name}|(?<=<${name}/))>`;
    case "not ordinary":
      return `<${name}>(${TEXT})</${name}>`;
  }
}

/** The texts of an item's leaves as they stand there, and where the item ends. */
type OrdinaryItem = { leaves: (string | undefined)[]; end: number };

/** Reads the item that begins at `at`; null when it is written in another way, or is none. */
export function readOrdinaryItem(text: string, at: number): OrdinaryItem | null {
  ORDINARY.lastIndex = at;
  const leaves = ORDINARY.exec(text);
  return leaves && { leaves, end: ORDINARY.lastIndex };
}

const WITH_PLACES = new RegExp(
  elementPattern("instrumentquote", LEAF_TREE, (leaf) => (isOfUnderlying(leaf) ? "not ordinary" : "absent")),
  "dy",
);

/**
 * Where the texts of an item's leaves begin and end, by leaf. An empty element has none: of a dividend whose elements are all
 * empty nothing is stored.
 *
 * @returns null when `text` does not begin with an ordinary item, or has an empty element in a quote of the underlying
 */
export function placesInOrdinaryItem(text: string): ([number, number] | undefined)[] | null {
  WITH_PLACES.lastIndex = 0;
  return WITH_PLACES.exec(text)?.indices ?? null;
}
