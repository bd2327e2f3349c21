/** The documentation as Help shows it, and the search through it. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { helpOf } from "../../scripts/help/pages.ts";
import { readPages } from "../../scripts/help/plugin.ts";
import { search, snippet } from "../../src/web/app/lib/helpSearch.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { pages, index } = helpOf(readPages(ROOT));

test("the project's own documentation is there, page by page, each with its title", () => {
  const files = readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" });

  expect(pages.size).toBe(files.filter((file) => file.endsWith(".md")).length + 2);
  expect(pages.get("")?.title).toBe("Documentation");
  expect([...pages.values()].filter(({ title }) => title === "" || title.endsWith(".md"))).toEqual([]);
});

test("the project's own documentation has nothing in it that the page's policy forbids, and no picture", () => {
  for (const [slug, { html }] of pages)
    expect([slug, /<(?:script|style|img|iframe|picture)|\sstyle=|\son\w+=/.exec(html)?.[0]]).toEqual([
      slug,
      undefined,
    ]);
});

test("the project's own documentation leads from page to page, and to headings that are there", () => {
  const links = [...pages].flatMap(([slug, { html }]) =>
    [...html.matchAll(/ href="([^"]*)"/g)].map(([, to = ""]) => ({ slug, to })),
  );
  const broken = links.filter(({ slug, to }) => {
    if (/^https?:/.test(to)) return false;
    const [path = "", anchor = ""] = to.split("#");
    const page = pages.get(path === "" ? slug : path.replace(/^\/help\/?/, ""));
    return !page || (anchor !== "" && !page.html.includes(`id="${anchor}"`));
  });

  expect(links.length).toBeGreaterThan(100);
  expect(broken).toEqual([]);
});

test.each([
  ["what is the token of the dashboard", "dashboard-access", ""],
  ["PORT_IN_USE", "errors", ""],
  ["glossary", "glossary", ""],
])("the project's own documentation answers “%s” on the page %s", (question, slug, anchor) => {
  const hits = search(index, question);

  expect(hits.slice(0, 5).map((hit) => [hit.slug, hit.anchor])).toContainEqual([slug, anchor]);
});

test.each(["budget", "Slot", "dead letter", "requested_at", "sweep"])(
  "the project's own documentation answers “%s”, a term of the glossary, there before anywhere else",
  (term) => {
    expect(search(index, term)[0]?.slug).toBe("glossary");
  },
);

const SOURCES = new Map([
  ["docs/zebra.md", "# Zebra\n\nStripes of QUOTES_BASE_URL.\n\n## Two\n\nText.\n\n## Two\n\nOther.\n"],
  [
    "docs/README.md",
    "<!-- Generated. -->\n\n# Pages\n\nRead [the second](second.md#a-heading-x), [the project](../README.md), " +
      "[code](../src/main.ts) and [a site](https://example.com/a?b=1&c=2).\n",
  ],
  [
    "docs/second.md",
    "# Second\n\n![A picture of it](images/a.png)\n\n## A heading, `x`!\n\n| a | b |\n| - | -: |\n| `<tag>` | 2 |\n\n" +
      "```sh\nif [ 1 < 2 ]\n```\n",
  ],
  [
    "README.md",
    '# The project\n\n<picture><img alt="The dashboard" src="a.png"></picture>\n\n[Up](docs/second.md)\n',
  ],
]);

const help = helpOf(SOURCES);
const htmlOf = (slug: string): string => help.pages.get(slug)?.html ?? "";

test("pages of Help come in the order of the first page's links", () => {
  expect(help.index.pages.map(({ slug }) => slug)).toEqual(["", "second", "readme", "zebra"]);
});

test("links to pages in Help, to sites in a new tab, and to files of the checkout not at all", () => {
  expect(htmlOf("")).toBe(
    '<p>Read <a href="/help/second#a-heading-x">the second</a>, <a href="/help/readme">the project</a>, code and ' +
      '<a href="https://example.com/a?b=1&amp;c=2" target="_blank" rel="noreferrer">a site</a>.</p>\n',
  );
  expect(htmlOf("readme")).toContain('<a href="/help/second">Up</a>');
});

test("a page says a picture's words in place of the picture", () => {
  expect(htmlOf("second")).toContain("<em>A picture of it</em>");
  expect(htmlOf("readme")).toContain("<em>The dashboard</em>");
});

test("a page has the anchors of GitHub, also for the second heading of a name", () => {
  expect(htmlOf("second")).toContain('<h2 id="a-heading-x" tabindex="-1">A heading, <code>x</code>!</h2>');
  expect([...htmlOf("zebra").matchAll(/id="([^"]+)"/g)].map(([, id]) => id)).toEqual(["two", "two-1"]);
});

test("a page shows signs as signs, in code and in tables", () => {
  expect(htmlOf("second")).toContain("<code>if [ 1 &lt; 2 ]</code>");
  expect(htmlOf("second")).toContain("<code>&lt;tag&gt;</code>");
  expect(search(help.index, "tag")).toEqual([
    { slug: "second", title: "Second", anchor: "a-heading-x", heading: "A heading, x!" },
  ]);
});

describe("the search", () => {
  const help = helpOf(SOURCES);
  const slugs = (question: string): string[] => search(help.index, question).map(({ slug }) => slug);

  test("the search of Help wants every word, whole or as it begins, whatever its letters' case", () => {
    expect(slugs("STRI")).toEqual(["zebra"]);
    expect(slugs("stripes second")).toEqual([]);
    expect(slugs("  ?! ")).toEqual([]);
  });

  test("the search of Help passes over words that stand everywhere", () => {
    expect(slugs("what are the stripes of it?")).toEqual(["zebra"]);
    expect(slugs("what is it?")).toEqual([]);
  });

  test("the search of Help finds three letters inside of a name, and two at its beginning alone", () => {
    expect(slugs("base url")).toEqual(["zebra"]);
    expect(slugs("rl")).toEqual([]);
  });

  test("the search of Help puts a heading before a text, and a title's page first", () => {
    expect(slugs("second")[0]).toBe("second");
    expect(search(help.index, "two").map(({ anchor }) => anchor)).toEqual(["two", "two-1"]);
  });

  test("the search is not led astray by the names of things in JavaScript", () => {
    expect(slugs("constructor")).toEqual([]);
    expect(slugs("__proto__")).toEqual([]);
  });
});

const text = `${"before ".repeat(60)}the Token is here ${"after ".repeat(60)}`;

test("a snippet shows the place, with what was asked for at odd places", () => {
  const parts = snippet(text, "token", 60);

  expect(parts[1]).toBe("Token");
  expect(parts.join("")).toMatch(/^… before .* the Token is here after .* …$/);
  expect(parts.join("").length).toBeLessThan(70);
});

test("a snippet is a short text whole, and a text's beginning where the words are in its heading", () => {
  expect(snippet("All  of\nit.", "heading")).toEqual(["All of it."]);
  expect(snippet(text, "heading", 20).join("")).toBe("before before before …");
});
