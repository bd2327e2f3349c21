/**
 * XML in the form of a JSON document, for a service that writes both: an element that holds elements is an object, any other is its
 * text, and elements of one name beside each other are a list.
 */
import type { Json, JsonObject } from "./json.ts";
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
  const tree = new Tree();
  walkXml(text, name, tree);
  return tree.document;
}

type Element = {
  name: string;
  text: string;
  /** The elements in it, by their names. */
  inside: Map<string, Json[]>;
};

class Tree implements XmlHandler {
  readonly #open: Element[] = [elementOf("")];

  get document(): JsonObject {
    return objectOf(this.#current);
  }

  get #current(): Element {
    const current = this.#open.at(-1);
    if (!current) throw new RangeError("more elements end than begin");
    return current;
  }

  open(name: string): void {
    this.#open.push(elementOf(name));
  }

  text(piece: string): void {
    this.#current.text += piece;
  }

  aside(): void {
    // It would glue two halves of a number into one that nobody sent.
    throw refused(`a comment stands in ${cutText(this.#current.name, 40)}`);
  }

  close(): void {
    const closed = this.#current;
    const { name, inside } = closed;
    const text = trimXml(closed.text);
    if (inside.size > 0 && text !== "")
      throw refused(`text stands beside the elements of ${cutText(name, 40)}`);
    this.#open.pop();
    const siblings = this.#current.inside.get(name) ?? [];
    siblings.push(inside.size > 0 ? objectOf(closed) : text);
    this.#current.inside.set(name, siblings);
  }
}

function elementOf(name: string): Element {
  return { name, text: "", inside: new Map() };
}

function objectOf({ inside }: Element): JsonObject {
  return Object.fromEntries(
    [...inside].map(([name, values]) => [name, values.length > 1 ? values : (values[0] ?? "")]),
  );
}
