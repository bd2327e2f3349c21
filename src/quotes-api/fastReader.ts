/**
 * A fast walk over plain XML, in which practically every answer is written: elements and text, attributes without
 * entities, the five entities that XML itself defines. It never refuses anything: of whatever is not certainly plain and
 * well-formed it says so, and `strictXml.ts` judges the document from its beginning (docs/decisions/two-readers.md).
 */
import { MAX_ATTRIBUTES, MAX_DEPTH, MAX_PIECE, type XmlHandler } from "./strictXml.ts";
import { LEAF, LEAF_PATHS, LEAF_TREE, type LeafNode } from "./leaves.ts";

/** As for `walkXml`, and `open` says whether the text directly inside is wanted; other text is kept back. */
export type PlainXmlHandler = Omit<XmlHandler, "open"> & {
  open: (...element: Parameters<XmlHandler["open"]>) => boolean;
  /**
   * Asked before an element is opened: a handler that reads it whole by itself, from the start tag at `offset` on,
   * returns where it ends; 0 otherwise.
   */
  take: (offset: number) => number;
};

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';

/** Longest tag, text or white space that is plain, in characters: two in a row are no longer than MAX_PIECE. */
export const MAX_PLAIN_PIECE = MAX_PIECE / 2;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const AMPERSAND = 0x26;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;
/** From here on a character may be half of a pair, or none of XML's. */
const SURROGATES = 0xd800;

/** 1 for each ASCII character that a plain name begins with, 2 for those that only go on with it. */
const NAME_CHARACTERS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z_]/.test(character) ? 1 : /[0-9.-]/.test(character) ? 2 : 0;
});

/** Names are kept in this many places, by their characters: all of the service's own in different ones. A power of 2. */
const KEPT_NAMES = 512;

const NO_ATTRIBUTES: Record<string, string> = Object.freeze(Object.create(null) as Record<string, string>);

/**
 * Walks `text` as `walkXml` would, with the same events in the same order, except that a text is reported only where
 * `open` asked for it.
 *
 * @returns false when the document is not plain or not well-formed: then what was reported of it means nothing
 */
export function walkPlainXml(text: string, rootName: string, handler: PlainXmlHandler): boolean {
  const start = afterSpace(text, text.startsWith(DECLARATION) ? DECLARATION.length : 0);
  if (start > MAX_PLAIN_PIECE) return false;
  const walk = new PlainWalk(text, start, handler);
  if (!walk.openElement(rootName)) return false;
  while (walk.isInside)
    if (!walk.passText() || !(walk.isAtEndTag ? walk.closeElement() : walk.takeElement())) return false;
  return text.length - walk.at <= MAX_PLAIN_PIECE && afterSpace(text, walk.at) === text.length;
}

/** Each step moves `at` behind what it reads. It returns false where the walk is to be given up. */
class PlainWalk {
  /** In UTF-16 units from the start of the text. */
  at: number;
  readonly #text: string;
  readonly #handler: PlainXmlHandler;
  /** Names of the open elements, and whether the text inside of each is wanted. */
  readonly #names: string[] = [];
  readonly #wants: boolean[] = [];
  readonly #kept = new Array<string | undefined>(KEPT_NAMES);

  constructor(text: string, at: number, handler: PlainXmlHandler) {
    this.#text = text;
    this.at = at;
    this.#handler = handler;
  }

  get isInside(): boolean {
    return this.#names.length > 0;
  }

  get isAtEndTag(): boolean {
    return this.#text.charCodeAt(this.at + 1) === SLASH;
  }

  /** A whole element if the handler reads it, else a start tag or an empty element's. */
  takeElement(): boolean {
    const end = this.#handler.take(this.at);
    if (end === 0) return this.openElement();
    this.at = end;
    return true;
  }

  /** A start tag or an empty element's; of this name, if one is given. */
  openElement(rootName?: string): boolean {
    const text = this.#text;
    const tag = this.at;
    const name = this.#readName();
    if (name === "" || (rootName !== undefined && name !== rootName)) return false;
    let attributes = NO_ATTRIBUTES;
    if (text.charCodeAt(this.at) === SPACE) {
      const read = readAttributes(text, this.at);
      if (read === null) return false;
      ({ attributes, at: this.at } = read);
    }
    const isEmpty = text.charCodeAt(this.at) === SLASH;
    if (isEmpty) this.at += 1;
    if (text.charCodeAt(this.at) !== GREATER) return false;
    this.at += 1;
    if (this.at - tag > MAX_PLAIN_PIECE || this.#names.length === MAX_DEPTH) return false;
    const isWanted = this.#handler.open(name, attributes, tag);
    if (isEmpty) this.#handler.close(name, this.at);
    else {
      this.#names.push(name);
      this.#wants.push(isWanted);
    }
    return true;
  }

  /** The name behind a "<"; empty when there is none that is plain. The same string object each time, if possible. */
  #readName(): string {
    const text = this.#text;
    const start = this.at + 1;
    let code = text.charCodeAt(start);
    if (text.charCodeAt(this.at) !== LESS || NAME_CHARACTERS[code] !== 1) return "";
    let place = 0;
    let end = start;
    do {
      place = (place * 31 + code) & (KEPT_NAMES - 1);
      end += 1;
      code = text.charCodeAt(end);
    } while ((NAME_CHARACTERS[code] ?? 0) !== 0);
    this.at = end;
    const kept = this.#kept[place] ?? "";
    if (kept.length === end - start && text.startsWith(kept, start)) return kept;
    const name = text.slice(start, end);
    this.#kept[place] = name;
    return name;
  }

  /** The end tag of the element that is open. */
  closeElement(): boolean {
    const name = this.#names.pop();
    this.#wants.pop();
    if (name === undefined || !this.#text.startsWith(name, this.at + 2)) return false;
    this.at += 3 + name.length;
    if (this.#text.charCodeAt(this.at - 1) !== GREATER) return false;
    this.#handler.close(name, this.at);
    return true;
  }

  /** All up to the next "<". */
  passText(): boolean {
    const text = this.#text;
    const start = this.at;
    let end = start;
    let isPlain = true;
    for (;;) {
      const code = text.charCodeAt(end);
      // The common ones first: space, digits and punctuation, letters.
      if (code === SPACE || (code > AMPERSAND && code < LESS) || (code > GREATER && code < SURROGATES))
        end += 1;
      else if (code === LESS) break;
      else if (code === AMPERSAND || code === CARRIAGE_RETURN) {
        isPlain = false;
        end += 1;
      } else if (code < AMPERSAND && (code > SPACE || code === LINE_FEED || code === TAB)) end += 1;
      else if (code === EQUALS) end += 1;
      // The end, or a character that is none of XML's, or may be. ">" is no fault by itself, but the end of "]]>" is.
      else return false;
    }
    this.at = end;
    if (end - start > MAX_PLAIN_PIECE) return false;
    const isWanted = end > start && this.#wants[this.#wants.length - 1] === true;
    if (isPlain && !isWanted) return true;
    const piece = isPlain ? text.slice(start, end) : resolved(text.slice(start, end));
    if (piece !== null && isWanted) this.#handler.text(piece);
    return piece !== null;
  }
}

function afterSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== TAB && code !== CARRIAGE_RETURN) return at;
    at += 1;
  }
}

/** One attribute with the space before it; its value holds no quote, no entity, nothing beyond ASCII. */
const ATTRIBUTE = / ([A-Za-z_][\w.:-]*)="([ !#-%'-;=-~]*)"/y;

function readAttributes(
  text: string,
  from: number,
): { attributes: Record<string, string>; at: number } | null {
  const attributes = Object.create(null) as Record<string, string>;
  let at = from;
  for (let count = 1; count <= MAX_ATTRIBUTES; count++) {
    ATTRIBUTE.lastIndex = at;
    const match = ATTRIBUTE.exec(text);
    if (match === null) return count === 1 ? null : { attributes, at };
    const [whole, name = "", value = ""] = match;
    if (name in attributes) return null;
    attributes[name] = value;
    at += whole.length;
  }
  return null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** With line ends as XML has them and entities resolved; null when one is none of the five. */
function resolved(piece: string): string | null {
  const lines = piece.replace(/\r\n?/g, "\n");
  if (/&(?!(?:amp|lt|gt|quot|apos);)/.test(lines)) return null;
  return lines.replace(/&(\w+);/g, (reference, name: string) => ENTITIES[name] ?? reference);
}

/** Text that the walk takes as it is: no markup, no entity, no line end, nothing that is or may be half a character. */
const TEXT = "[ -%'-;=?-\\ud7ff]*";

const BETWEEN = "[ \\t\\n]*";

/**
 * One `instrumentquote` as the service writes it, in a single step: its elements in the order of the specification,
 * which is that of the alphabet, each of them or none; without attributes, entities, or anything that is not known. A
 * backfill spends most of its time in reading, and this takes a third of what going from tag to tag takes. Whatever is
 * written in another way is for the walk above. A group for each leaf: the tree has them in the order of their places, and
 * so the groups come.
 */
const ORDINARY = new RegExp(elementPattern("instrumentquote", LEAF_TREE, meansSomething), "y");

/**
 * Where an empty element is something else than none: whether there is a dividend, or a quote of the underlying, is
 * told by any of its elements.
 */
function meansSomething(leaf: number): boolean {
  const { first, end } = LEAF.underlyingQuote;
  return (leaf >= first && leaf < end) || /\/dividenddata\//.test(LEAF_PATHS[leaf] ?? "");
}

/** @param isSaid whether an empty element of that leaf would have to be told from none */
function elementPattern(
  name: string,
  { leaf, children }: LeafNode,
  isSaid: (leaf: number) => boolean,
): string {
  if (leaf === null) {
    const inside = [...children].map(
      ([child, node]) => `(?:${elementPattern(child, node, isSaid)}${BETWEEN})?`,
    );
    return `<${name}(?:/|>${BETWEEN}${inside.join("")}</${name})>`;
  }
  return isSaid(leaf) ? `<${name}>(${TEXT})</${name}>` : `<${name}(?:/|>(${TEXT})</${name})>`;
}

/** What such an element says: the texts of its leaves as they stand there, and where it ends. */
type OrdinaryItem = { leaves: (string | undefined)[]; end: number };

/** Reads the element that begins at `at`; null when it is written in another way, or is none. */
export function readOrdinaryItem(text: string, at: number): OrdinaryItem | null {
  ORDINARY.lastIndex = at;
  const leaves = ORDINARY.exec(text);
  const end = ORDINARY.lastIndex;
  return leaves === null || end - at > MAX_PLAIN_PIECE ? null : { leaves, end };
}

const WITH_PLACES = new RegExp(
  elementPattern("instrumentquote", LEAF_TREE, () => false),
  "dy",
);

/**
 * Where the texts of such an element's leaves begin and end, by leaf; an empty element is as good as none. Null when `text`
 * does not begin with one.
 */
export function placesInOrdinaryItem(text: string): ([number, number] | undefined)[] | null {
  WITH_PLACES.lastIndex = 0;
  return WITH_PLACES.exec(text)?.indices ?? null;
}
