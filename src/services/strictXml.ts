/**
 * One XML document that is not trusted, as a tree: it is whole and well-formed, or refused. Completeness is proved here, on the
 * document: HTTP clients accept bodies that were cut short (field notes, "Traps"). `XMLValidator` refuses every cut, `XMLParser`
 * reads, and `refuseWhatBothPass` refuses what neither of them does (docs/decisions/two-readers.md).
 */
import { type XMLMetaData, XMLParser, XMLValidator } from "fast-xml-parser";
import { QuotekeeperError } from "../ground/errors.ts";
import { cutText } from "../ground/outsideText.ts";
import { refused } from "../quotes/document.ts";

/** Characters that are parsed at most: the parser takes some hundred bytes of memory for each of them, in one turn. */
export const MAX_XML = 2 * 1024 * 1024;

/** Assumed: no answer of the service nests deeper than this; its own documents are 6 deep. */
const MAX_DEPTH = 64;

const [TEXT, CDATA, COMMENT] = ["#text", "#cdata", "#comment"] as const;

/** No name of XML begins so. With it, names such as `constructor`, which the parser refuses or changes, are as any other. */
const BEFORE_NAME = ".";

const PARSER = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  trimValues: false,
  parseTagValue: false,
  parseAttributeValue: false,
  textNodeName: TEXT,
  cdataPropName: CDATA,
  commentPropName: COMMENT,
  entityDecoder: {
    decode: withoutReferences,
    setExternalEntities: () => undefined,
    addInputEntities: () => undefined,
    reset: () => undefined,
    setXmlVersion: () => undefined,
  },
  captureMetaData: true,
  jPath: false,
  ignoreDeclaration: true,
  transformTagName: (name) => (name.startsWith(BEFORE_NAME) ? name : BEFORE_NAME + name),
});

/** Where the parser keeps the place of an element: its type is said as `Symbol`, which no key is. */
const PLACE = XMLParser.getMetaDataSymbol() as symbol;

/**
 * Reads exactly one document in UTF-8 whose root element is called `rootName`, and nothing behind it but white space and comments.
 *
 * @throws QuotekeeperError DOCUMENT_REFUSED with a fault of it
 */
export function parseXml(text: string, rootName: string): XmlElement {
  if (text.length > MAX_XML)
    throw refused(
      `it is not whole, or more than ${MAX_XML} characters of it are not as the service writes them`,
    );
  refuseWhatBothPass(text);
  const valid = XMLValidator.validate(text);
  if (valid !== true) {
    const { msg, line, col } = valid.err;
    throw refused(`${line}:${col}: ${cutText(msg, 200)}`);
  }
  const [root] = elementsOf(parsed(text));
  if (root?.name === rootName) return root;
  throw refused(`its root element is ${cutText(root?.name ?? "", 40)}, not ${rootName}`);
}

function parsed(text: string): RawNode[] {
  try {
    return PARSER.parse(text) as RawNode[];
  } catch (error) {
    if (error instanceof QuotekeeperError || !(error instanceof Error)) throw error;
    throw refused(cutText(error.message, 200), error);
  }
}

/** An element has its own name and perhaps ":@", its attributes; any other node one name of the parser's. */
type RawNode = Readonly<Record<string, string | readonly RawNode[] | Readonly<Record<string, string>>>> & {
  readonly [place: symbol]: XMLMetaData | undefined;
};

/** An element as the parser has it. What is in it is looked at when it is asked for: most of it never is. */
export class XmlElement {
  readonly name: string;
  readonly #node: RawNode;
  readonly #inside: readonly RawNode[];

  constructor(node: RawNode) {
    const [name = ""] = Object.keys(node);
    this.name = name.slice(BEFORE_NAME.length);
    this.#node = node;
    this.#inside = node[name] as readonly RawNode[];
  }

  get id(): string | null {
    const attributes = this.#node[":@"] as Readonly<Record<string, string>> | undefined;
    return attributes?.["@_id"]?.replace(/[\t\n]/g, " ") ?? null;
  }

  get elements(): XmlElement[] {
    return elementsOf(this.#inside);
  }

  get hasComment(): boolean {
    return this.#inside.some((node) => COMMENT in node);
  }

  /** Its own text, that of CDATA too, without that of elements in it. */
  get text(): string {
    let text = "";
    for (const node of this.#inside) {
      const quoted = node[CDATA] as readonly RawNode[] | undefined;
      text += ((quoted?.[0] ?? node)[TEXT] as string | undefined) ?? "";
    }
    return text;
  }

  /** As it stands in the document. @param document the text that was parsed */
  sourceIn(document: string): string {
    const place = this.#node[PLACE];
    return document.slice(place?.startIndex, place?.endIndex);
  }
}

function elementsOf(nodes: readonly RawNode[]): XmlElement[] {
  const elements: XmlElement[] = [];
  for (const node of nodes)
    if (!(TEXT in node || CDATA in node || COMMENT in node)) elements.push(new XmlElement(node));
  return elements;
}

/** Production 2 of XML 1.0: what is no character of it, half of a surrogate pair among them. */
const NO_CHARACTER = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const DECLARATION =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(["'])1\.0\1(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(["'])([A-Za-z][\w.-]*)\2)?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(["'])(?:yes|no)\4)?[ \t\r\n]*\?>/y;

/** A start or an end tag. Its name is the validator's to judge, which passes over white space of JavaScript's at a name's end. */
const TAG =
  /<(?:(\/)[^\s<>/="']+|[^\s<>/="']+(?:[ \t\r\n]+[^\s<>/="']+[ \t\r\n]*=[ \t\r\n]*(?:"[^"<]*"|'[^'<]*')){0,64})[ \t\r\n]*(\/)?>/y;

/** What the validator and the parser both let pass, and depth. @throws QuotekeeperError DOCUMENT_REFUSED */
function refuseWhatBothPass(text: string): void {
  if (NO_CHARACTER.test(text)) throw refused("it holds a disallowed character");
  let [at, depth, roots] = [declarationEnd(text), 0, 0];
  while (at < text.length) {
    const open = placeOf("<", text, at);
    const words = text.slice(at, open);
    if (depth === 0 && /[^ \t\r\n]/.test(words)) throw refused("text stands outside of its root element");
    if (words.includes("]]>")) throw refused('"]]>" stands in a text of it');
    if (open === text.length) break;
    if (text.startsWith("<!--", open)) {
      at = placeOf("--", text, open + 4) + 3;
      if (text[at - 1] !== ">") throw refused('a comment of it does not end, or holds "--"');
    } else if (text.startsWith("<![CDATA[", open)) {
      if (depth === 0) throw refused("CDATA stands outside of its root element");
      at = placeOf("]]>", text, open) + 3;
      if (at > text.length) throw refused("CDATA of it does not end");
    } else if (/[!?]/.test(text[open + 1] ?? "")) {
      throw refused(
        `it holds ${cutText(text.slice(open, open + 10).trim(), 10)}, which no answer of this service has`,
      );
    } else {
      TAG.lastIndex = open;
      const [tag, isEnd, isEmpty] = TAG.exec(text) ?? [];
      if (tag === undefined || (isEnd && isEmpty))
        throw refused("a tag of it is malformed, does not end, or has more than 64 attributes");
      if (!isEnd && depth === 0 && (roots += 1) > 1) throw refused("it holds a second root element");
      if (depth === MAX_DEPTH && !isEnd) throw refused(`its elements nest deeper than ${MAX_DEPTH}`);
      depth += isEnd ? -1 : isEmpty ? 0 : 1;
      at = TAG.lastIndex;
    }
  }
  if (depth > 0) throw refused(`it ends too early: ${depth} of its elements are open`);
}

/** @returns the length of the text: it is not there */
function placeOf(what: string, text: string, from: number): number {
  const place = text.indexOf(what, from);
  return place < 0 ? text.length : place;
}

function declarationEnd(text: string): number {
  if (!/^<\?xml[ \t\r\n]/.test(text)) return 0;
  DECLARATION.lastIndex = 0;
  const declared = DECLARATION.exec(text);
  if (declared === null) throw refused("its XML declaration is odd");
  const encoding = declared[3] ?? "UTF-8";
  if (/^(utf-?8|us-ascii)$/i.test(encoding)) return DECLARATION.lastIndex;
  throw refused(`it declares the encoding ${cutText(encoding, 40)}; only UTF-8 is read`);
}

/** XML's own five; any other is one of a DOCTYPE. */
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** Of a text or an attribute. @throws QuotekeeperError DOCUMENT_REFUSED */
function withoutReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:([^;&]{0,40});)?/g, (_, name: string = "") => {
    const character = ENTITIES.get(name) ?? numbered(name);
    if (character !== null) return character;
    throw refused(`it holds an undefined entity, &${cutText(name, 40)}`);
  });
}

/** The character of `#48` or `#x30`; null: it is none. */
function numbered(name: string): string | null {
  const [, hex, digits] = /^#(?:x([\da-fA-F]+)|(\d+))$/.exec(name) ?? [];
  if (hex === undefined && digits === undefined) return null;
  const code = hex === undefined ? parseInt(digits ?? "", 10) : parseInt(hex, 16);
  const character = code > LAST_CHARACTER ? "\0" : String.fromCodePoint(code);
  if (NO_CHARACTER.test(character)) throw refused(`it holds a disallowed character, &${name};`);
  return character;
}

const LAST_CHARACTER = 0x10_ff_ff;

const SPACE = 0x20;

/** Without the white space of XML around it; JavaScript would take a no-break space for white space as well. */
export function trimXml(text: string): string {
  if (text.charCodeAt(0) > SPACE && text.charCodeAt(text.length - 1) > SPACE) return text;
  return text.replace(/^[ \t\r\n]+/, "").replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
}
