/** A second opinion on XML: saxes, which is strict. What an answer never has, it refuses on top of that. */
import { SaxesParser } from "saxes";
import type { XmlElement } from "../../src/services/strictXml.ts";

export type Opinion = {
  name: string;
  id: string | null;
  /** The element's own text, that of CDATA too. */
  text: string;
  hasComment: boolean;
  /** As it stands in the document. */
  source: string;
  elements: Opinion[];
};

const [MOST_ATTRIBUTES, MOST_DEEP] = [64, 64];

/** The root element of a document. @throws Error with the first fault */
export function secondOpinion(document: string): Opinion {
  const top: Opinion = { name: "", id: null, text: "", hasComment: false, source: "", elements: [] };
  const open: { element: Opinion; start: number }[] = [{ element: top, start: 0 }];
  const parser = new SaxesParser({ xmlns: false, position: true });
  const refuse = (why: string) => (): never => {
    throw new Error(why);
  };
  const current = (): Opinion => open.at(-1)?.element ?? top;
  let start = 0;
  let attributes = 0;
  parser.on("error", (error) => refuse(error.message)());
  parser.on("doctype", refuse("a DOCTYPE"));
  parser.on("processinginstruction", refuse("an instruction"));
  parser.on("xmldecl", ({ version, encoding = "UTF-8" }) => {
    if (version !== "1.0" || !/^(utf-?8|us-ascii)$/i.test(encoding)) refuse("another encoding or version")();
  });
  parser.on("opentagstart", () => {
    start = document.lastIndexOf("<", parser.position - 1);
    attributes = 0;
  });
  parser.on("attribute", () => {
    if (++attributes > MOST_ATTRIBUTES) refuse("too many attributes")();
  });
  parser.on("opentag", ({ name, attributes: { id } }) => {
    if (open.length > MOST_DEEP) refuse("too deep")();
    const element = {
      name,
      id: id?.replace(/[\t\n]/g, " ") ?? null,
      text: "",
      hasComment: false,
      source: "",
      elements: [],
    };
    current().elements.push(element);
    open.push({ element, start });
  });
  parser.on("closetag", () => {
    const closed = open.pop();
    if (closed) closed.element.source = document.slice(closed.start, parser.position);
  });
  parser.on("text", (text) => void (current().text += text));
  parser.on("cdata", (text) => {
    if (open.length === 1) refuse("CDATA outside of the root")();
    current().text += text;
  });
  parser.on("comment", () => void (current().hasComment = true));
  // A byte order mark is dropped when bytes become text, and saxes would drop one more.
  if (document.startsWith("\ufeff")) refuse("text outside of the root")();
  parser.write(document).close();
  const [root] = top.elements;
  if (root === undefined) throw new Error("no root");
  return root;
}

/** The program's reading in the same form. @param document what was parsed */
export function ownReading(element: XmlElement, document: string): Opinion {
  const { name, id, text, hasComment, elements } = element;
  const source = element.sourceIn(document);
  return {
    name,
    id,
    text,
    hasComment,
    source,
    elements: elements.map((inside) => ownReading(inside, document)),
  };
}
