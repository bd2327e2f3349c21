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
const ORDINARY = new RegExp(elementPattern("instrumentquote", LEAF_TREE), "y");

/**
 * Whether `<name/>` of a leaf says something: any element of a dividend, or of a quote of the underlying, says that there is one, an
 * empty one too. Anywhere else an empty element is as good as an absent one.
 */
function speaksEmpty(leaf: number): boolean {
  const { first, end } = LEAF.underlyingQuote;
  return (leaf >= first && leaf < end) || /\/dividenddata\//.test(LEAF_PATHS[leaf] ?? "");
}

function elementPattern(name: string, { leaf, children }: LeafNode): string {
  if (leaf === null) {
    const inside = [...children].map(([child, node]) => `(?:${elementPattern(child, node)}${BETWEEN})?`);
    return `<${name}(?:/|>${BETWEEN}${inside.join("")}</${name})>`;
  }
  return speaksEmpty(leaf)
    ? `<${name}(?:/(?=>)|>)(${TEXT})(?:</${name}|(?<=<${name}/))>`
    : `<${name}(?:/|>(${TEXT})</${name})>`;
}

/** The texts of an item's leaves as they stand there, and where the item ends. */
type OrdinaryItem = { leaves: (string | undefined)[]; end: number };

/** Reads the item that begins at `at`; null when it is written in another way, or is none. */
export function readOrdinaryItem(text: string, at: number): OrdinaryItem | null {
  ORDINARY.lastIndex = at;
  const leaves = ORDINARY.exec(text);
  return leaves && { leaves, end: ORDINARY.lastIndex };
}
