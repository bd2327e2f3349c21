/**
 * One `instrumentquote` as the service writes it, in a single step: its elements in the order of the specification,
 * which is that of the alphabet, each of them or none; without attributes, entities, or anything that is not known. A
 * backfill spends most of its time in reading, and this takes a third of what going from tag to tag takes. Whatever is
 * written in another way is for the walk (fastReader.ts).
 */
import { LEAF, LEAF_PATHS, LEAF_TREE, type LeafNode } from "./leaves.ts";
import { MAX_PLAIN_PIECE } from "./fastReader.ts";

/** Text that the walk takes as it is: no markup, no entity, no line end, nothing that is or may be half a character. */
const TEXT = "[ -%'-;=?-\\ud7ff]*";

const SPACE = "[ \\t\\n]*";

/** A group for each leaf. The tree has them in the order of their places, and so the groups come. */
const ORDINARY = new RegExp(elementPattern("instrumentquote", LEAF_TREE), "y");

/**
 * Where an empty element is something else than none: whether there is a dividend, or a quote of the underlying, is
 * told by any of its elements.
 */
function meansSomething(leaf: number): boolean {
  const { first, end } = LEAF.underlyingQuote;
  return (leaf >= first && leaf < end) || /\/dividenddata\//.test(LEAF_PATHS[leaf] ?? "");
}

function elementPattern(name: string, { leaf, children }: LeafNode): string {
  if (leaf === null) {
    const inside = [...children].map(([child, node]) => `(?:${elementPattern(child, node)}${SPACE})?`);
    return `<${name}(?:/|>${SPACE}${inside.join("")}</${name})>`;
  }
  return meansSomething(leaf) ? `<${name}>(${TEXT})</${name}>` : `<${name}(?:/|>(${TEXT})</${name})>`;
}

/** What such an element says: the texts of its leaves as they stand there, and where it ends. */
export type OrdinaryItem = { leaves: (string | undefined)[]; end: number };

/** Reads the element that begins at `at`; null when it is written in another way, or is none. */
export function readOrdinaryItem(text: string, at: number): OrdinaryItem | null {
  ORDINARY.lastIndex = at;
  const leaves = ORDINARY.exec(text);
  const end = ORDINARY.lastIndex;
  return leaves === null || end - at > MAX_PLAIN_PIECE ? null : { leaves, end };
}
