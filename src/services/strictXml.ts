/**
 * A strict, streaming walk over one XML document that is not trusted: it is whole and well-formed, or refused.
 * Completeness is proved here, on the document: HTTP clients accept bodies that were cut short (field notes, "Traps").
 */
import { SaxesParser } from "saxes";
import { cutText } from "../outsideText.ts";
import { refused } from "../quotes/document.ts";

/** Assumed: no answer of the service nests deeper than this; its own documents are 6 deep. */
const MAX_DEPTH = 64;

/**
 * Assumed: no single tag, text, comment or stretch of white space of an answer is longer than this, in characters;
 * the longest seen is a description of some 60. It bounds the work on an attribute or a text of megabytes. A longer text
 * inside of an instrument costs that instrument, every other longer piece the document.
 */
export const MAX_PIECE = 65_536;

/** Assumed: no element of the service has more attributes than this; its own has one, `id`. */
const MAX_ATTRIBUTES = 64;

/** How much the parser is given at once, in characters: by so much a piece may outgrow MAX_PIECE unseen. */
const SLICE = 16_384;

/** What the walk reports. Offsets are in UTF-16 units of the decoded text. */
export type XmlHandler = {
  open: (name: string, attributes: Record<string, string>, offset: number) => void;
  text: (text: string) => void;
  /** A comment or processing instruction inside the root. */
  aside: () => void;
  close: (name: string, offset: number) => void;
  /** Whether text that is longer than MAX_PIECE is wanted here all the same; without it, it never is. */
  wantsLongText?: () => boolean;
};

/**
 * Walks `text`, which must be exactly one well-formed document: no DOCTYPE, UTF-8, one root element called
 * `rootName`, nothing after it but what XML allows there (white space, comments, processing instructions). A comment or
 * CDATA section that merely quotes a DOCTYPE is refused as well: telling the two apart would take a parser that has
 * begun to read the document.
 *
 * @throws QuotekeeperError DOCUMENT_REFUSED with the first fault
 */
export function walkXml(text: string, rootName: string, handler: XmlHandler): void {
  // Refused before parsing, and before the parser could look at a single entity.
  if (/<!DOCTYPE/i.test(text)) throw refused("it holds a DOCTYPE, which no answer of this service has");
  const parser = new SaxesParser({ xmlns: false, position: true });
  let depth = 0;
  let lastOpen = 0;
  let attributeCount = 0;
  /** Where the last piece ended. */
  let reached = 0;
  parser.on("error", refuseFault);
  parser.on("xmldecl", ({ encoding }) => {
    reached = parser.position;
    checkEncoding(encoding);
  });
  parser.on("opentagstart", () => {
    lastOpen = text.lastIndexOf("<", parser.position - 1);
    attributeCount = 0;
  });
  parser.on("attribute", () => {
    attributeCount += 1;
    if (attributeCount > MAX_ATTRIBUTES)
      throw refused(`an element has more than ${MAX_ATTRIBUTES} attributes`);
  });
  parser.on("opentag", ({ name, attributes }) => {
    reached = parser.position;
    depth += 1;
    checkPlace(name, depth, rootName);
    handler.open(name, attributes, lastOpen);
  });
  parser.on("closetag", ({ name }) => {
    reached = parser.position;
    depth -= 1;
    handler.close(name, parser.position);
  });
  parser.on("text", (piece) => {
    reached = parser.position;
    if (depth > 0) handler.text(piece);
  });
  parser.on("cdata", (piece) => {
    reached = parser.position;
    handler.text(piece);
  });
  const aside = (): void => {
    reached = parser.position;
    if (depth > 0) handler.aside();
  };
  parser.on("comment", aside);
  parser.on("processinginstruction", aside);
  // In slices, so that a piece without end is refused early, and not after all of it was gathered.
  for (let at = 0; at < text.length; at += SLICE) {
    const end = Math.min(at + SLICE, text.length);
    parser.write(text.slice(at, end));
    if (end - reached > MAX_PIECE && !(isText(text, reached) && handler.wantsLongText?.() === true))
      throw refused(PIECE_TOO_LONG);
  }
  // Refuses what ends before its root element does.
  parser.close();
}

function refuseFault(error: Error): never {
  throw refused(error.message, error);
}

function checkEncoding(encoding: string | undefined): void {
  if (encoding !== undefined && !/^(utf-?8|us-ascii)$/i.test(encoding))
    throw refused(`it declares the encoding ${cutText(encoding, 40)}; only UTF-8 is read`);
}

function checkPlace(name: string, depth: number, rootName: string): void {
  if (depth === 1 && name !== rootName)
    throw refused(`its root element is ${cutText(name, 40)}, not ${rootName}`);
  if (depth > MAX_DEPTH) throw refused(`its elements nest deeper than ${MAX_DEPTH}`);
}

/** What is wrong with a document that holds too long a piece. */
export const PIECE_TOO_LONG = `a piece of it is longer than ${MAX_PIECE} characters`;

/** Whether the piece behind the last event, which ended at `reached`, is text or CDATA, and no markup. */
function isText(text: string, reached: number): boolean {
  // A text is reported when the "<" behind it has been read.
  const start = text[reached - 1] === "<" ? reached - 1 : reached;
  return text[start] !== "<" || text.startsWith("<![CDATA[", start);
}

const SPACE = 0x20;

/** Without the white space of XML around it; JavaScript would take a no-break space for white space as well. */
export function trimXml(text: string): string {
  if (text.charCodeAt(0) > SPACE && text.charCodeAt(text.length - 1) > SPACE) return text;
  return text.replace(/^[ \t\r\n]+/, "").replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
}
