/**
 * Reads a response document: whole, or not at all. One bad instrument costs itself alone; unknown extra
 * elements and another order are fine (design, section 8).
 */
import { QuotekeeperError } from "../../errors.ts";
import { MAX_ITEMS, type ReadDocument, type ReadItem, refused } from "../../quotes/document.ts";
import { LEAF, LEAF_PATHS, LEAF_TREE, type LeafNode } from "./leaves.ts";
import { MAX_PLAIN_PIECE, readOrdinaryItem } from "./ordinaryItem.ts";
import { ABSENT_TEXTS } from "../../quotes/decimal.ts";
import { isOption, readLeaves } from "./readInstrument.ts";
import { decodeBody } from "../bodyText.ts";
import { MAX_PIECE, PIECE_TOO_LONG, trimXml, walkXml, type XmlHandler } from "../strictXml.ts";
import { cutText } from "../../outsideText.ts";

const ROOT = "response";

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
  if (count === 0 || rest.length > MAX_PLAIN_PIECE) return null;
  const document = strictlyOrNull(rest);
  if (document === null) return null;
  let met = 0;
  const items = document.items.flatMap((item) =>
    item.fragment === EMPTY_ITEM ? (runs[met++] ?? []) : [item],
  );
  return met === runs.length && items.length <= MAX_ITEMS ? { ...document, items } : null;
}

const ITEM = "instrumentquote";
const ITEM_START = `<${ITEM}`;
const EMPTY_ITEM = `<${ITEM}/>`;
const SPACE_ONLY = /^[ \t\r\n]*$/;

/** A text with one empty item in place of each run of ordinary ones, and these runs. An empty item is ordinary itself. */
function withoutOrdinaryItems(text: string): { rest: string; runs: ReadItem[][]; count: number } {
  const runs: ReadItem[][] = [];
  let [rest, end, count] = ["", 0, 0];
  for (let at = text.indexOf(ITEM_START); at >= 0; at = text.indexOf(ITEM_START, Math.max(end, at + 1))) {
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
    const item = { leaves, damaged: null, problem: null, offset: at };
    runs.at(-1)?.push(finishItem(item, text.slice(at, end)));
  }
  return { rest: rest + text.slice(end), runs, count };
}

/** The strict way, without saying why a document is refused. */
export function strictlyOrNull(text: string): ReadDocument | null {
  try {
    return readStrictly(text);
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
  const reading = new Reading(text);
  walkXml(text, ROOT, reading);
  return reading.finish();
}

/** Where the walk is: an element whose inside is known, or one that is passed over. */
const NOTHING: LeafNode = { leaf: null, children: new Map() };

/** What a walk has found so far. No leaf lies inside of another, so one text at a time is enough. */
class Reading implements XmlHandler {
  readonly #text: string;
  readonly #document: ReadDocument = { id: null, error: null, hasQuotes: false, items: [] };
  /** What the response says besides its quotes: `error`, `type`, `name`, `description`. */
  readonly #sayings = new Map<string, string>();
  /** Names of the first other elements below the root, and of those below `quotes` that hold elements themselves. */
  readonly #others = { response: new Set<string>(), quotes: new Set<string>() };
  /** The element below `quotes` that is open, when it is no instrument. */
  #other = "";
  #depth = 0;
  #isInQuotes = false;
  #item: ItemInProgress | null = null;
  /** Of each open element below the item's own depth; the last is the current one. */
  readonly #nodes: LeafNode[] = [];
  #node: LeafNode = NOTHING;
  /** Text of the leaf, or of the element below the root, that is open. */
  #content = "";

  constructor(text: string) {
    this.#text = text;
  }

  open(name: string, attributes: Record<string, string>, offset: number): void {
    this.#depth += 1;
    if (this.#item !== null) return this.#openInside(this.#item, name);
    if (this.#depth === 1) this.#document.id = attributes["id"] ?? null;
    if (this.#depth === 2) {
      this.#content = "";
      this.#isInQuotes = name === "quotes";
      if (this.#isInQuotes) this.#document.hasQuotes = true;
      else noteName(this.#others.response, name);
      return;
    }
    if (this.#depth === 4 && this.#isInQuotes) noteName(this.#others.quotes, this.#other);
    if (this.#depth === 3 && this.#isInQuotes && name !== ITEM) this.#other = name;
    else if (this.#depth === 3 && this.#isInQuotes) {
      if (this.#document.items.length === MAX_ITEMS)
        throw refused(`it holds more than ${MAX_ITEMS} instruments`);
      this.#item = {
        leaves: new Array<string | undefined>(LEAF_PATHS.length),
        damaged: null,
        problem: null,
        offset,
      };
      this.#node = LEAF_TREE;
    }
  }

  #openInside(item: ItemInProgress, name: string): void {
    const { leaf, children } = this.#node;
    if (leaf !== null) damage(item, leaf, `holds an element ${cutText(name, 40)} where text is expected`);
    this.#nodes.push(this.#node);
    this.#node = children.get(name) ?? NOTHING;
    this.#content = "";
  }

  wantsLongText(): boolean {
    return this.#item !== null;
  }

  text(piece: string): void {
    if (piece.length > MAX_PIECE) return this.#longText();
    const isKept = this.#item === null ? this.#depth === 2 : this.#node.leaf !== null;
    if (isKept) this.#content = this.#content === "" ? piece : this.#content + piece;
  }

  #longText(): void {
    if (this.#item === null) throw refused(PIECE_TOO_LONG);
    const where = this.#node.leaf === null ? "an element that is not read" : LEAF_PATHS[this.#node.leaf];
    this.#item.problem ??= `${where} is longer than ${MAX_PIECE} characters`;
  }

  aside(): void {
    const { leaf } = this.#node;
    // A comment inside a number would glue two halves into a number that nobody sent.
    if (this.#item && leaf !== null) damage(this.#item, leaf, "is interrupted by a comment");
  }

  close(name: string, offset: number): void {
    if (this.#item === null) {
      const content = this.#depth === 2 && !this.#isInQuotes ? trimXml(this.#content) : "";
      if (content !== "") this.#sayings.set(name, content);
    } else if (this.#depth === 3) {
      this.#finishItem(this.#item, offset);
      this.#item = null;
      this.#node = NOTHING;
    } else {
      if (this.#node.leaf !== null) keepLeaf(this.#item, this.#node.leaf, trimXml(this.#content));
      this.#node = this.#nodes.pop() ?? NOTHING;
    }
    this.#depth -= 1;
  }

  #finishItem(item: ItemInProgress, end: number): void {
    this.#document.items.push(finishItem(item, this.#text.slice(item.offset, end)));
  }

  finish(): ReadDocument {
    this.#document.error = errorIn(this.#sayings);
    const { hasQuotes, error, items } = this.#document;
    if (error !== null || items.length > 0) return this.#document;
    const { response, quotes } = this.#others;
    if (!hasQuotes) throw refused(`it holds neither quotes nor an error${ofAnotherCall(response)}`);
    if (quotes.size > 0) throw refused(`its quotes hold no <${ITEM}>${ofAnotherCall(quotes)}`);
    return this.#document;
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
  offset: number;
};

function damage(item: ItemInProgress, leaf: number, problem: string): void {
  item.damaged ??= new Map();
  if (!item.damaged.has(leaf)) item.damaged.set(leaf, problem);
}

function keepLeaf(item: ItemInProgress, leaf: number, content: string): void {
  // Two instruments that ran into one look so, and then nobody knows whose the other fields are.
  if (item.leaves[leaf] !== undefined) item.problem ??= `${LEAF_PATHS[leaf]} stands there twice`;
  else item.leaves[leaf] = content;
}

function finishItem({ leaves, damaged, problem }: ItemInProgress, fragment: string): ReadItem {
  const symbol = leaves[LEAF.symbol] || null;
  if (problem !== null) return { ok: false, symbol, isOption: isOption(leaves, damaged), problem, fragment };
  const read = readLeaves(leaves, damaged);
  return read.ok ? { ...read, fragment } : { ...read, symbol, fragment };
}
