/** The documentation as Help shows it: each page of Markdown as HTML, and the index of their words. */
import { posix } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import { type HelpIndex, type HelpPage, wordsOf } from "../../src/web/app/lib/helpSearch.ts";

/** The page from which all others are found. */
export const FIRST_PAGE = "docs/README.md";

/** The page whose tables explain terms, one in each first cell. */
const GLOSSARY = "docs/glossary.md";

/** Pages by slug, and what is known of them all. */
export type Help = { pages: Map<string, HelpPage>; index: HelpIndex };

/** A text below a heading; `terms` are the first cells of its tables. */
type Section = { anchor: string; heading: string; text: string; terms: string[] };

/** @param sources Markdown by the file's path from the top of the checkout */
export function helpOf(sources: ReadonlyMap<string, string>): Help {
  const pages = new Map<string, HelpPage>();
  const index: HelpIndex = {
    ...{ pages: [], sections: [] },
    words: Object.create(null) as HelpIndex["words"],
    terms: Object.create(null) as HelpIndex["terms"],
  };
  for (const file of inOrder(sources)) {
    const { title, html, sections } = render(file, sources);
    const slug = slugOf(file);
    pages.set(slug, { title, html });
    const page = index.pages.push({ slug, title }) - 1;
    for (const { anchor, heading, text, terms } of sections) {
      const place = index.sections.push({ page, anchor, heading }) - 1;
      for (const word of new Set(wordsOf(`${title} ${heading} ${text}`)))
        (index.words[word] ??= []).push(place);
      if (file === GLOSSARY) for (const term of terms) index.terms[wordsOf(term).join(" ")] ??= place;
    }
  }
  return { pages, index };
}

/** `docs/deploy.md` is `deploy`; the first page has no name. */
export function slugOf(file: string): string {
  if (file === FIRST_PAGE) return "";
  return file
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .replace(/^[A-Z]+$/, (name) => name.toLowerCase());
}

/** The first page, then the others as it links to them, then the rest. */
function inOrder(sources: ReadonlyMap<string, string>): string[] {
  const linked = [...(sources.get(FIRST_PAGE) ?? "").matchAll(/\]\(([^)#\s]+)/g)].map(([, target = ""]) =>
    posix.join(posix.dirname(FIRST_PAGE), target),
  );
  return [...new Set([FIRST_PAGE, ...linked, ...sources.keys()])].filter((file) => sources.has(file));
}

function render(file: string, sources: ReadonlyMap<string, string>): HelpPage & { sections: Section[] } {
  const sections: Section[] = [{ anchor: "", heading: "", text: "", terms: [] }];
  const marked = markedOf(file, sources);
  const tokens = marked.lexer(sources.get(file) ?? "");
  const anchors = new Map<string, number>();
  let title = file;
  const below: Token[] = [];
  for (const token of tokens) {
    if (token.type === "heading" && token["depth"] === 1) {
      title = textOf(token);
      continue;
    }
    if (token.type === "heading") {
      const heading = textOf(token);
      const anchor = anchorOf(heading, anchors);
      (token as Tokens.Heading & { anchor: string }).anchor = anchor;
      sections.push({ anchor, heading, text: "", terms: [] });
    }
    const section = sections.at(-1);
    if (section) section.text += ` ${textOf(token)}`;
    if (section && token.type === "table")
      section.terms.push(
        ...(token as Tokens.Table).rows.map(([first]) => first?.tokens.map(textOf).join("") ?? ""),
      );
    below.push(token);
  }
  return { title, html: marked.parser(below), sections };
}

/** As GitHub makes it of a heading; the second of the same name on a page has a number. */
function anchorOf(heading: string, before: Map<string, number>): string {
  const anchor = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
  const count = before.get(anchor) ?? 0;
  before.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

/** What a reader sees of a token: no marks, no addresses. */
function textOf(token: Token): string {
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flatMap((row) => row.map((cell) => cell.tokens.map(textOf).join(""))).join(" ");
  }
  if (token.type === "list") return (token as Tokens.List).items.map(textOf).join(" ");
  if (token.type === "html") return pictureOf(token.raw);
  if ("tokens" in token && token.tokens) return token.tokens.map(textOf).join("");
  return "text" in token ? unescaped(String(token.text)) : "";
}

/** The words that stand for a picture; what else is no Markdown says nothing to a reader. */
function pictureOf(html: string): string {
  return /\balt="([^"]*)"/.exec(html)?.[1] ?? "";
}

/** A renderer that knows where the page lies. The page's policy forbids styles and scripts in it: there are none. */
function markedOf(file: string, sources: ReadonlyMap<string, string>): Marked {
  return new Marked({
    renderer: {
      heading(token) {
        const { anchor = "" } = token as Tokens.Heading & { anchor?: string };
        return `<h${token.depth} id="${anchor}" tabindex="-1">${this.parser.parseInline(token.tokens)}</h${token.depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const to = addressOf(href, file, sources);
        if (to === null) return text;
        return to.startsWith("http")
          ? `<a href="${escaped(to)}" target="_blank" rel="noreferrer">${text}</a>`
          : `<a href="${escaped(to)}">${text}</a>`;
      },
      image: ({ text }) => (text === "" ? "" : `<em>${escaped(text)}</em>`),
      html: ({ raw }) => {
        const words = pictureOf(raw);
        return words === "" ? "" : `<p><em>${escaped(words)}</em></p>\n`;
      },
      // What is wider than the page is moved sideways by itself, with keys too.
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
      table(token) {
        const row = (cells: Tokens.TableCell[]): string =>
          `<tr>${cells.map((cell) => this.tablecell(cell)).join("")}</tr>`;
        const body = token.rows.map(row).join("\n");
        return `<div class="scroll" tabindex="0"><table><thead>${row(token.header)}</thead><tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
}

/** Where a link of a page leads in Help; null to a file of the checkout that is no page. */
function addressOf(href: string, file: string, sources: ReadonlyMap<string, string>): string | null {
  if (/^https?:/.test(href) || href.startsWith("#")) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(file), path);
  if (!sources.has(target)) return null;
  const slug = slugOf(target);
  return `/help${slug === "" ? "" : `/${slug}`}${anchor === undefined ? "" : `#${anchor}`}`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Marked has escaped what stands in the text of some tokens. */
function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
