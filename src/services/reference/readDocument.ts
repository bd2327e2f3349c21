/**
 * Reads a response document: whole, or not at all. One bad instrument costs itself alone; unknown extra
 * elements and another order are fine (design, section 8).
 */
import { QuotekeeperError } from "../../ground/errors.ts";
import { MAX_ITEMS, type ReadDocument, type ReadItem, refused } from "../../quotes/document.ts";
import { LEAF, LEAF_PATHS, LEAF_TREE, type LeafNode } from "./leaves.ts";
import { readOrdinaryItem } from "./ordinaryItem.ts";
import { ABSENT_TEXTS } from "../../quotes/decimal.ts";
import { isOption, readLeaves } from "./readInstrument.ts";
import { decodeBody } from "../bodyText.ts";
import { parseXml, trimXml, type XmlElement } from "../strictXml.ts";
import { cutText } from "../../ground/outsideText.ts";

const ROOT = "response";

/** Assumed: no text of an instrument is longer, in characters; the longest seen is a description of some 60. A longer one costs its instrument. */
export const MAX_TEXT = 65_536;

/**
 * Reads a document: its ordinary items by one pattern, everything else strictly (docs/decisions/two-readers.md).
 *
 * @param body the bytes of a 200 answer
 * @throws QuotekeeperError DOCUMENT_REFUSED when it is not one whole, well-formed `response` document
 */
export function readDocument(body: Uint8Array): ReadDocument {
  const text = decodeBody(body);
  return readQuickly(text) ?? readStrictly(text);
}

/**
 * The fast way. Ordinary items leave an empty item in their place. The strict reader reads what is left: where it finds an
 * item, they are.
 *
 * @returns null when hardly anything is ordinary, and when the document is to be refused: `readStrictly` says why
 */
export function readQuickly(text: string): ReadDocument | null {
  const { rest, runs, count } = withoutOrdinaryItems(text);
  if (count === 0 || count > MAX_ITEMS) return null;
  let met = 0;
  const document = orNull(() =>
    readTree(rest, (element) => {
      const source = element.sourceIn(rest);
      return source === EMPTY_ITEM ? (runs[met++] ?? []) : [readItem(element, source)];
    }),
  );
  return met === runs.length ? document : null;
}

const ITEM = "instrumentquote";
const ITEM_START = `<${ITEM}`;
const EMPTY_ITEM = `<${ITEM}/>`;
const SPACE_ONLY = /^[ \t\r\n]*$/;

/** A text with one empty item in place of each run of ordinary ones, and these runs. An empty item is ordinary itself. */
function withoutOrdinaryItems(text: string): { rest: string; runs: ReadItem[][]; count: number } {
  const runs: ReadItem[][] = [];
  let [rest, end, count] = ["", 0, 0];
  let at = text.indexOf(ITEM_START);
  for (; at >= 0 && count <= MAX_ITEMS; at = text.indexOf(ITEM_START, Math.max(end, at + 1))) {
    const ordinary = readOrdinaryItem(text, at);
    if (ordinary === null) continue;
    const between = text.slice(end, at);
    if (count === 0 || !SPACE_ONLY.test(between)) {
      rest += `${between}${EMPTY_ITEM}`;
      runs.push([]);
    }
    end = ordinary.end;
    count += 1;
    const leaves = ordinary.leaves.map((content) => (content === undefined ? content : trimXml(content)));
    const item = { leaves, damaged: null, problem: null };
    runs.at(-1)?.push(finishItem(item, text.slice(at, end)));
  }
  return { rest: rest + text.slice(end), runs, count };
}

function orNull(read: () => ReadDocument): ReadDocument | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof QuotekeeperError) return null;
    throw error;
  }
}

/**
 * The strict way, which reads whatever is well-formed.
 *
 * @throws QuotekeeperError DOCUMENT_REFUSED
 */
export function readStrictly(text: string): ReadDocument {
  return readTree(text, (element) => [readItem(element, element.sourceIn(text))]);
}

function readTree(text: string, itemsOf: (element: XmlElement) => readonly ReadItem[]): ReadDocument {
  const root = parseXml(text, ROOT);
  /** What the response says besides its quotes: `error`, `type`, `name`, `description`. */
  const sayings = new Map<string, string>();
  /** Names of the first other elements below the root, and of those below `quotes` that hold elements themselves. */
  const others = { response: new Set<string>(), quotes: new Set<string>() };
  const document: ReadDocument = { id: root.id, error: null, hasQuotes: false, items: [] };
  for (const element of root.elements) {
    if (element.name === "quotes") {
      document.hasQuotes = true;
      for (const inside of element.elements)
        if (inside.name === ITEM) addItems(document, itemsOf(inside));
        else if (inside.elements.length > 0) noteName(others.quotes, inside.name);
      continue;
    }
    noteName(others.response, element.name);
    const said = trimXml(element.text);
    if (said !== "") sayings.set(element.name, said);
  }
  document.error = errorIn(sayings);
  const { hasQuotes, error, items } = document;
  if (error !== null || items.length > 0) return document;
  if (!hasQuotes) throw refused(`it holds neither quotes nor an error${ofAnotherCall(others.response)}`);
  if (others.quotes.size > 0) throw refused(`its quotes hold no <${ITEM}>${ofAnotherCall(others.quotes)}`);
  return document;
}

function addItems({ items }: ReadDocument, more: readonly ReadItem[]): void {
  if (items.length + more.length > MAX_ITEMS) throw refused(`it holds more than ${MAX_ITEMS} instruments`);
  items.push(...more);
}

function readItem(element: XmlElement, source: string): ReadItem {
  const leaves = new Array<string | undefined>(LEAF_PATHS.length);
  const item: ItemInProgress = { leaves, damaged: null, problem: null };
  gather(element, LEAF_TREE, item);
  return finishItem(item, source);
}

/** Puts the leaves below an element into their places. No leaf lies inside of another. */
function gather(element: XmlElement, { children }: LeafNode, item: ItemInProgress): void {
  for (const inside of element.elements) {
    const node = children.get(inside.name);
    if (node === undefined) continue;
    if (node.leaf === null) gather(inside, node, item);
    else keepLeaf(item, node.leaf, inside);
  }
}

/** Most names of elements that a refusal tells, and the most characters of each. */
const [MOST_NAMES, NAME_LENGTH] = [3, 40];

function noteName(names: Set<string>, name: string): void {
  if (names.size < MOST_NAMES) names.add(cutText(name, NAME_LENGTH));
}

/** A live service has such documents: its sibling calls answer `quotes` with `quote`, `accountbalance`, `putcalls`. */
function ofAnotherCall(names: ReadonlySet<string>): string {
  if (names.size === 0) return "";
  const held = [...names].map((name) => `<${name}>`).join(", ");
  return `, but ${held}: it answers another call, or another version of this one`;
}

/** Assumed: a word for "no value" is not an error, and `Success` and `Error` may be written in upper or lower case. */
function errorIn(sayings: ReadonlyMap<string, string>): string | null {
  const error = sayings.get("error");
  const isFault = (text: string): boolean => text !== "success" && !ABSENT_TEXTS.has(text);
  if (error !== undefined && isFault(error.toLowerCase())) return error;
  if (sayings.get("type")?.toLowerCase() !== "error") return null;
  return sayings.get("description") ?? sayings.get("name") ?? "Error";
}

type ItemInProgress = {
  leaves: (string | undefined)[];
  /** What is wrong with the form of a leaf: that leaf cannot be read. */
  damaged: Map<number, string> | null;
  /** What is wrong with the form of the item: nothing of it can be read. */
  problem: string | null;
};

function keepLeaf(item: ItemInProgress, leaf: number, element: XmlElement): void {
  const problem = problemOf(element);
  if (problem !== null && !item.damaged?.has(leaf)) (item.damaged ??= new Map()).set(leaf, problem);
  // Two instruments that ran into one look so, and then nobody knows whose the other fields are.
  if (item.leaves[leaf] !== undefined) item.problem ??= `${LEAF_PATHS[leaf]} stands there twice`;
  else item.leaves[leaf] = trimXml(element.text);
}

/** What is wrong with the form of a leaf. */
function problemOf({ elements: [first], hasComment }: XmlElement): string | null {
  if (first !== undefined) return `holds an element ${cutText(first.name, 40)} where text is expected`;
  // It would glue two halves of a number into one that nobody sent.
  return hasComment ? "is interrupted by a comment" : null;
}

function finishItem({ leaves, damaged, problem }: ItemInProgress, fragment: string): ReadItem {
  const symbol = leaves[LEAF.symbol] || null;
  if (fragment.length > MAX_TEXT && problem === null) {
    const long = leaves.findIndex((text = "") => text.length > MAX_TEXT);
    if (long >= 0) problem = `${LEAF_PATHS[long]} is longer than ${MAX_TEXT} characters`;
  }
  if (problem !== null) return { ok: false, symbol, isOption: isOption(leaves, damaged), problem, fragment };
  const read = readLeaves(leaves, damaged);
  return read.ok ? { ...read, fragment } : { ...read, symbol, fragment };
}
