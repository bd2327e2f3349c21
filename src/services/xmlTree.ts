/**
 * XML in the form of a JSON document, for a service that writes both: an element that holds elements is an object, any other is its
 * text, and elements of one name beside each other are a list.
 */
import { type Json, JsonObject } from "./plainJson.ts";
import { refused } from "../quotes/document.ts";
import { walkXml, type XmlHandler } from "./strictXml.ts";
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

type Element = { name: string; offset: number; text: string; inside: Map<string, Json[]> };

class Tree implements XmlHandler {
  readonly #source: string;
  readonly #open: Element[] = [{ name: "", offset: 0, text: "", inside: new Map() }];

  constructor(source: string) {
    this.#source = source;
  }

  get document(): JsonObject {
    return objectOf(this.#current, this.#source);
  }

  get #current(): Element {
    const current = this.#open.at(-1);
    if (!current) throw new RangeError("more elements end than begin");
    return current;
  }

  open(name: string, _attributes: Record<string, string>, offset: number): void {
    this.#open.push({ name, offset, text: "", inside: new Map() });
  }

  text(piece: string): void {
    this.#current.text += piece;
  }

  aside(): void {
    // It would glue two halves of a number into one that nobody sent.
    throw refused(`a comment stands in ${cutText(this.#current.name, 40)}`);
  }

  close(_name: string, end: number): void {
    const element = this.#current;
    this.#open.pop();
    const text = element.text.replace(/^[ \t\r\n]+/, "").replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
    if (element.inside.size > 0 && text !== "")
      throw refused(`text stands beside the elements of ${cutText(element.name, 40)}`);
    const value = element.inside.size > 0 ? objectOf(element, this.#source.slice(element.offset, end)) : text;
    const { inside } = this.#current;
    const alike = inside.get(element.name);
    if (alike) alike.push(value);
    else inside.set(element.name, [value]);
  }
}

function objectOf({ inside }: Element, text: string): JsonObject {
  const names = [...inside.keys()];
  return new JsonObject(
    new Map(names.map((name, place) => [name, place])),
    [...inside.values()].map((values) => (values.length === 1 ? (values[0] ?? null) : values)),
    text,
  );
}
