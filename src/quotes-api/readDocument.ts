/**
 * Reads a response document: whole, or not at all. One bad instrument costs itself alone; unknown extra
 * elements and another order are fine (design, section 8).
 */
import { type InstrumentQuote } from "./document.ts";
import { LEAVES, readInstrument } from "./readInstrument.ts";
import { decodeBody, refused, walkXml } from "./xml.ts";

/** One `instrumentquote` of an answer: read, or set aside with the reason and its own text. */
export type ReadItem =
  | { ok: true; item: InstrumentQuote; fragment: string }
  | { ok: false; symbol: string | null; problem: string; fragment: string };

/** A whole answer. */
export type ReadDocument = {
  /** `response/@id`. */
  id: string | null;
  /**
   * `response/error` when it says anything but `Success`, or the `description` of a response whose `type` is `Error`
   * (field notes, "Answers"); then there are usually no items.
   */
  error: string | null;
  /** Whether there was a `quotes` element at all. */
  hasQuotes: boolean;
  items: ReadItem[];
};

/** Longest piece of an answer that is kept beside a dead letter, in characters; the whole is in the journal. */
export const MAX_FRAGMENT = 16_384;

/** Assumed: no answer holds more instruments than this; the largest list reported is 325 (field notes, "Requests"). */
export const MAX_ITEMS = 4_000;

const ITEM_PATH = "response/quotes/instrumentquote";

/**
 * @param body the bytes of a 200 answer
 * @throws QuotekeeperError DOCUMENT_REFUSED when it is not one whole, well-formed `response` document
 */
export function readDocument(body: Uint8Array): ReadDocument {
  const text = decodeBody(body);
  const result: ReadDocument = { id: null, error: null, hasQuotes: false, items: [] };
  const path: string[] = [];
  /** What the response says besides its quotes: `error`, `type`, `name`, `description`. */
  const sayings = new Map<string, string>();
  /** Text of the element at each depth. */
  const texts: string[] = [];
  let item: ItemInProgress | null = null;

  walkXml(text, "response", {
    open(name, attributes, offset) {
      path.push(name);
      texts.push("");
      if (path.length === 1) result.id = attributes["id"] ?? null;
      if (path.length === 2 && name === "quotes") result.hasQuotes = true;
      if (path.length === 3 && path.join("/") === ITEM_PATH) {
        if (result.items.length === MAX_ITEMS) throw refused(`it holds more than ${MAX_ITEMS} instruments`);
        item = { leaves: new Map(), problem: null, offset };
      } else if (item && LEAVES.has(path.slice(3, -1).join("/"))) {
        item.problem ??= `${path.at(-2)} holds an element ${name.slice(0, 40)} where text is expected`;
      }
    },
    text(piece) {
      const depth = texts.length - 1;
      texts[depth] = `${texts[depth] ?? ""}${piece}`;
    },
    aside() {
      const leaf = path.slice(3).join("/");
      // A comment inside a number would glue two halves into a number that nobody sent.
      if (item && LEAVES.has(leaf)) item.problem ??= `${leaf} is interrupted by a comment`;
    },
    close(name, offset) {
      const content = trimmed(texts.pop() ?? "");
      if (item && path.length === 3) {
        result.items.push(
          finishItem(item, text.slice(item.offset, Math.min(offset, item.offset + MAX_FRAGMENT))),
        );
        item = null;
      } else if (item) keepLeaf(item, path.slice(3).join("/"), content);
      else if (path.length === 2 && content !== "") sayings.set(name, content);
      path.pop();
    },
  });

  result.error = errorIn(sayings);
  if (!result.hasQuotes && result.error === null) throw refused("it holds neither quotes nor an error");
  return result;
}

/** Without the white space of XML around it; JavaScript would take a no-break space for white space as well. */
function trimmed(text: string): string {
  return text.replace(/^[ \t\r\n]+/, "").replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
}

function errorIn(sayings: ReadonlyMap<string, string>): string | null {
  const error = sayings.get("error");
  if (error !== undefined && error !== "Success") return error;
  if (sayings.get("type") !== "Error") return null;
  return sayings.get("description") ?? sayings.get("name") ?? "Error";
}

type ItemInProgress = { leaves: Map<string, string>; problem: string | null; offset: number };

function keepLeaf(item: ItemInProgress, leaf: string, content: string): void {
  if (!LEAVES.has(leaf)) return;
  if (item.leaves.has(leaf)) item.problem ??= `${leaf} stands there twice`;
  item.leaves.set(leaf, content);
}

function finishItem({ leaves, problem }: ItemInProgress, fragment: string): ReadItem {
  const symbol = leaves.get("instrument/sym") || null;
  if (problem !== null) return { ok: false, symbol, problem, fragment };
  const read = readInstrument(leaves);
  return read.ok
    ? { ok: true, item: read.item, fragment }
    : { ok: false, symbol, problem: read.problem, fragment };
}
