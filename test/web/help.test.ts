/** The documentation as pages beside the dashboard. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { ALL_PAGES, helpPages } from "../../scripts/help/pages.ts";
import { readPages } from "../../scripts/help/plugin.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const pages = helpPages(readPages(ROOT));

test("the project's own documentation is there, page by page, each with its title, and all in one", () => {
  const files = readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" }).filter(
    (name) => !name.startsWith("makers"),
  );
  const titles = [...pages.values()].map(
    (html) => /<title>(.*) · quotekeeper<\/title>/.exec(html)?.[1] ?? "",
  );

  expect(pages.size).toBe(files.filter((file) => file.endsWith(".md")).length + 3);
  expect(pages.get("index.html")).toContain("<h1>Documentation</h1>");
  expect(titles.filter((title) => title === "")).toEqual([]);
  expect(pages.get(ALL_PAGES)).toContain("QUOTEKEEPER_WEB_TOKEN");
});

test("the project's own documentation has nothing in it that the page's policy forbids, and no picture", () => {
  for (const [name, html] of pages)
    expect([name, /<(?:script|style|img|iframe|picture)|\sstyle=|\son\w+=/.exec(html)?.[0]]).toEqual([
      name,
      undefined,
    ]);
});

test("the project's own documentation leads from page to page, and to headings that are there", () => {
  const links = [...pages].flatMap(([name, html]) =>
    [...html.matchAll(/<a href="([^"]*)"/g)].map(([, to = ""]) => ({ name, to })),
  );
  const broken = links.filter(({ name, to }) => {
    if (/^https?:|^\.\.\/$/.test(to) || name === ALL_PAGES) return false;
    const [path = "", anchor = ""] = to.split("#");
    const html = pages.get(path === "" ? name : path);
    return html === undefined || (anchor !== "" && !html.includes(`id="${anchor}"`));
  });

  expect(links.length).toBeGreaterThan(100);
  expect(broken).toEqual([]);
});

const made = helpPages(
  new Map([
    [
      "docs/README.md",
      "# First\n\nTo [the second](second.md#a-heading-x), [the project](../README.md), [code](../src/a.ts) and [a site](https://example.com/a?b=1&c=2).\n",
    ],
    [
      "docs/second.md",
      '# Second\n\n<img src="a.png" alt="A picture of it">\n\n## A heading, `x`!\n\n`<tag>`\n\n```\nif [ 1 < 2 ]\n```\n\n## Two\n\n## Two\n',
    ],
    ["README.md", "# Project\n\n[Up](docs/second.md)\n"],
  ]),
);

test("a page leads to the other pages by their names here; a file that is no page is no link", () => {
  expect(made.get("index.html")).toContain(
    '<a href="second.html#a-heading-x">the second</a>, <a href="readme.html">the project</a>, code and ' +
      '<a href="https://example.com/a?b=1&amp;c=2" rel="noreferrer">a site</a>.',
  );
  expect(made.get("readme.html")).toContain('<a href="second.html">Up</a>');
});

test("a page says a picture's words in place of it, has the anchors of GitHub, and shows signs as signs", () => {
  const html = made.get("second.html") ?? "";

  expect(html).toContain("<em>A picture of it</em>");
  expect(html).toContain('<h2 id="a-heading-x">A heading, <code>x</code>!</h2>');
  expect([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)).toEqual(["a-heading-x", "two", "two-1"]);
  expect(html).toContain("<code>if [ 1 &lt; 2 ]</code>");
  expect(html).toContain("<code>&lt;tag&gt;</code>");
});
