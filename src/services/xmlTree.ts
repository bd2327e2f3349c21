/**
 * XML in the form of a JSON document, for a service that writes both: an element that holds elements is an object, any other is its
 * text, and elements of one name beside each other are a list.
 */
import { type Json, JsonObject } from "./plainJson.ts";
import { refused } from "../quotes/document.ts";
import { trimXml, walkXml, type XmlHandler } from "./strictXml.ts";
import { cutText } from "../outsideText.ts";

/**
 * Reads a document of one of these roots.
 *
 * @returns an object whose only key is the root
 * @throws QuotekeeperError DOCUMENT_REFUSED
 */
export function parseXmlTree(text: string, roots: readonly string[]): JsonObject {
  const name = /^[^<]*(?:<\?[^>]*>[^<]*)*<([\w.-]{1,64})/.exec(text)?.[1] ?? "";
  if (!roots.includes(name))
    throw refused(`its root element is ${cutText(name, 40)}, none of ${roots.join(", ")}`);
  const tree = new Tree(text);
  walkXml(text, name, tree);
  return tree.document;
}

type Element = {
  name: string;
  offset: number;
  text: string;
  /** The elements in it, by the places of their names; null: none so far. */
  places: Map<string, number> | null;
  values: Json[];
  /** Places at which there are several. */
  lists: Set<number> | null;
};

class Tree implements XmlHandler {
  readonly #source: string;
  readonly #open: Element[] = [elementOf("", 0)];

  constructor(source: string) {
    this.#source = source;
  }

  get document(): JsonObject {
    const { places, values } = this.#current;
    return new JsonObject(places ?? new Map(), values, this.#source);
  }

  get #current(): Element {
    const current = this.#open.at(-1);
    if (!current) throw new RangeError("more elements end than begin");
    return current;
  }

  open(name: string, _attributes: Record<string, string>, offset: number): void {
    this.#open.push(elementOf(name, offset));
  }

  text(piece: string): void {
    this.#current.text += piece;
  }

  aside(): void {
    // It would glue two halves of a number into one that nobody sent.
    throw refused(`a comment stands in ${cutText(this.#current.name, 40)}`);
  }

  close(_name: string, end: number): void {
    const { name, offset, text, places, values } = this.#current;
    this.#open.pop();
    if (places === null) return add(this.#current, name, trimXml(text));
    if (trimXml(text) !== "") throw refused(`text stands beside the elements of ${cutText(name, 40)}`);
    add(this.#current, name, new JsonObject(places, values, this.#source.slice(offset, end)));
  }
}

function elementOf(name: string, offset: number): Element {
  return { name, offset, text: "", places: null, values: [], lists: null };
}

function add(to: Element, name: string, value: Json): void {
  to.places ??= new Map();
  const place = to.places.get(name);
  if (place === undefined) {
    to.places.set(name, to.values.length);
    to.values.push(value);
  } else if (to.lists?.has(place)) (to.values[place] as Json[]).push(value);
  else {
    (to.lists ??= new Set()).add(place);
    to.values[place] = [to.values[place] ?? null, value];
  }
}
