/** The documentation as pages of the dashboard: each file of Markdown as a document of HTML without a script. */
import { posix } from "node:path";
import { Marked, type Tokens } from "marked";

/** The page from which all others are found. */
const FIRST_PAGE = "docs/README.md";

/** All pages in one, for the browser's own search. */
export const ALL_PAGES = "all.html";

/** @param sources Markdown by the file's path from the top of the checkout @returns HTML by the name of its file */
export function helpPages(sources: ReadonlyMap<string, string>): Map<string, string> {
  const pages = [...inOrder(sources)].map((file) => ({ file, ...render(file, sources) }));
  const all = pages.map(({ title, html }) => `<article>\n<h1>${title}</h1>\n${html}</article>`).join("\n");
  return new Map([
    ...pages.map(
      ({ file, title, html }) => [nameOf(file), documentOf(title, `<h1>${title}</h1>\n${html}`)] as const,
    ),
    [ALL_PAGES, documentOf("All pages", withoutAnchors(all))] as const,
  ]);
}

/** `docs/deploy.md` is `deploy.html`; the first page is `index.html`. */
export function nameOf(file: string): string {
  if (file === FIRST_PAGE) return "index.html";
  const name = file.replace(/^docs\//, "").replace(/\.md$/, "");
  return `${name.replace(/^[A-Z]+$/, (capitals) => capitals.toLowerCase()).replaceAll("/", "-")}.html`;
}

/** Each anchor is on its own page. */
const withoutAnchors = (html: string): string => html.replace(/ id="[^"]*"/g, "");

function documentOf(title: string, html: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>${title} · quotekeeper</title>
<link rel="stylesheet" href="help.css" />
</head>
<body>
<nav><a href="../">quotekeeper</a> <a href="index.html">Contents</a> <a href="${ALL_PAGES}">All pages in one</a></nav>
<main>
${html}</main>
</body>
</html>
`;
}

/** The first page, then the others as it links to them, then the rest. */
function inOrder(sources: ReadonlyMap<string, string>): Set<string> {
  const linked = [...(sources.get(FIRST_PAGE) ?? "").matchAll(/\]\(([^)#\s]+)/g)].map(([, target = ""]) =>
    posix.join(posix.dirname(FIRST_PAGE), target),
  );
  return new Set([FIRST_PAGE, ...linked, ...sources.keys()].filter((file) => sources.has(file)));
}

function render(file: string, sources: ReadonlyMap<string, string>): { title: string; html: string } {
  const anchors = new Map<string, number>();
  let title = "";
  const html = markedOf(file, sources, (html, text, depth) => {
    if (depth === 1) title = html;
    return depth === 1 ? null : anchorOf(text, anchors);
  }).parse(sources.get(file) ?? "") as string;
  return { title, html };
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

type AnchorOf = (html: string, text: string, depth: number) => string | null;

/** A renderer that knows where the page lies. The policy forbids styles and scripts in it: there are none. */
function markedOf(file: string, sources: ReadonlyMap<string, string>, anchorOf: AnchorOf): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const anchor = anchorOf(html, this.parser.parseInline(tokens, this.parser.textRenderer), depth);
        return anchor === null ? "" : `<h${depth} id="${anchor}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const to = addressOf(href, file, sources);
        return to === null
          ? text
          : `<a href="${escaped(to)}"${to.startsWith("http") ? ' rel="noreferrer"' : ""}>${text}</a>`;
      },
      image: ({ text }) => (text === "" ? "" : `<em>${escaped(text)}</em>`),
      html: ({ raw }) => {
        const words = /\balt="([^"]*)"/.exec(raw)?.[1] ?? "";
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

/** Where a link of a page leads here; null to a file of the checkout that is no page. */
function addressOf(href: string, file: string, sources: ReadonlyMap<string, string>): string | null {
  if (/^https?:/.test(href) || href.startsWith("#")) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(file), path);
  if (!sources.has(target)) return null;
  return `${nameOf(target)}${anchor === undefined ? "" : `#${anchor}`}`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
