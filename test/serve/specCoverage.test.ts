import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { readAssumptions } from "../../scripts/docs/assumptions.ts";

const ROOT = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/makers/spec-coverage.md", ROOT), "utf8");

/**
 * The specification's headings in order: how many rows their tables have, and how many sentences stand below them (a
 * sentence that names several things that are not shown counts for each of them).
 */
const SPECIFICATION: readonly (readonly [heading: string, rows: number, sentences: number])[] = [
  ["Market Quotes Service Specification", 0, 2],
  ["What the service does", 0, 6],
  ["Resources and their fields", 0, 2],
  ["Response document", 2, 0],
  ["instrumentquote", 6, 0],
  ["instrument", 7, 0],
  ["quote (and undlyquote)", 6, 0],
  ["extendedquote", 17, 3],
  ["States and transitions", 0, 2],
  ["Endpoints", 0, 0],
  ["GET {base_url}/v1/market/quotes.xml", 6, 10],
  ["POST {base_url}/v1/account/<account_id>/orders.xml", 0, 8],
  ["Authentication", 7, 6],
  ["Events", 0, 2],
  ["Errors", 0, 6],
  ["Limits", 7, 4],
  ["Versioning", 0, 3],
];

/** The page's sections: a heading, and its numbered entries. */
const sections = page
  .split(/^#{2,3} /m)
  .slice(1)
  .map((section) => {
    const [heading = "", ...rest] = section.split("\n");
    const entries = rest.join("\n").split(/^(?=\d+\. )/m);
    return {
      heading: heading.replaceAll("`", ""),
      entries: entries.filter((entry) => /^\d+\. /.test(entry)),
      /** Where all entries are built that name no file of their own. */
      builtIn: /^In `src\//m.test(entries[0] ?? ""),
    };
  });

test("every heading of the specification is there in its order, with an entry for each sentence and row", () => {
  expect(sections.map(({ heading, entries }) => [heading, entries.length])).toEqual(
    SPECIFICATION.map(([heading, rows, sentences]) => [heading, rows + sentences]),
  );
});

test("every entry is numbered, and names a file it is built in, or its section does", () => {
  for (const { entries, builtIn } of sections) {
    expect(entries.map((entry) => Number.parseInt(entry, 10))).toEqual(
      entries.map((_entry, index) => index + 1),
    );
    if (!builtIn) for (const entry of entries) expect(entry).toMatch(/ In `src\//);
  }
});

test("what is not shown has an assumption, or what is known besides", () => {
  const silent = sections.flatMap(({ entries }) => entries).filter((entry) => /not shown/i.test(entry));

  expect(silent.length).toBeGreaterThan(15);
  const bare = silent.filter((entry) => !/ (Assumed|Known): /.test(entry));
  expect(bare.filter((entry) => !entry.includes("Transitions are not shown"))).toEqual([]);
});

test("every file that docs/makers/spec-coverage.md names exists", () => {
  const files = [...page.matchAll(/`((?:src|test)\/[^`]+)`/g)].map(([, file = ""]) => file);

  expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
});

test("every assumption that docs/makers/spec-coverage.md names is made, with that name", () => {
  const made = new Set(readAssumptions(fileURLToPath(ROOT)).map(({ name }) => name));
  const named = [...page.matchAll(/ Assumed: ([^.]*)\./g)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );

  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !made.has(name))).toEqual([]);
});
