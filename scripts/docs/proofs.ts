/**
 * test/proofs.md: each numbered sentence of the promises and of the specification with the tests that prove it. `test/proofs.json`
 * names the tests by the sentence's number, then by file and title; a command stands there in place of a file.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A numbered sentence of a page: `A1` of the promises, `Limits 3` of the specification. */
export type Sentence = { number: string; text: string };

/** Titles of tests by the number of the sentence, then by the test's file, or `npm run ...` with what it does. */
export type Proofs = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** What proofs are held against. */
export type Tree = {
  /** All sentences that need a proof. */
  sentences: readonly Sentence[];
  proofs: Proofs;
  /** A file's text by its path from the top of the checkout; null where there is none. */
  textOf: (path: string) => string | null;
  /** Names of package.json's scripts. */
  scripts: readonly string[];
};

/** @param root the checkout */
export function readProofs(root: string): Tree {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  return {
    sentences: [
      ...promisesOf(read("docs/promises.md")),
      ...specificationOf(read("docs/makers/spec-coverage.md")),
    ],
    proofs: JSON.parse(read("test/proofs.json")) as Proofs,
    textOf: (path) => (existsSync(join(root, path)) ? read(path) : null),
    scripts: Object.keys((JSON.parse(read("package.json")) as { scripts: object }).scripts),
  };
}

/** The promises of a page: its list's items that begin with a bold number. */
export function promisesOf(page: string): Sentence[] {
  return [...page.matchAll(/^- \*\*([A-Z]\d+)\*\* (.+(?:\n {2}.+)*)$/gm)].map(
    ([, number = "", text = ""]) => ({
      number,
      text: text.replace(/\s+/g, " "),
    }),
  );
}

/** The numbered entries of a page, by heading and number. */
function specificationOf(page: string): Sentence[] {
  return page
    .split(/^#{2,3} /m)
    .slice(1)
    .flatMap((section) => {
      const heading = section.split("\n", 1)[0]?.replaceAll("`", "") ?? "";
      return [...section.matchAll(/^(\d+)\. (.+)$/gm)].map(([, number = "", text = ""]) => ({
        number: `${heading} ${number}`,
        text,
      }));
    });
}

/** What does not hold of the proofs, in sentences: one that is missing, or one of nothing. */
export function problemsOf({ sentences, proofs, textOf, scripts }: Tree): string[] {
  const numbers = sentences.map(({ number }) => number);
  const repeated = numbers.filter((number, place) => numbers.indexOf(number) !== place);
  const bare = numbers.filter((number) => Object.values(proofs[number] ?? {}).flat().length === 0);
  const foreign = Object.keys(proofs).filter((number) => !numbers.includes(number));
  const texts = new Map<string, string | null>();
  const lost = Object.entries(proofs).flatMap(([number, places]) =>
    Object.entries(places).flatMap(([place, titles]) => {
      const command = /^npm run (.+)$/.exec(place)?.[1];
      if (command !== undefined)
        return scripts.includes(command) ? [] : [`${number}: package.json has no script ${command}`];
      if (!texts.has(place)) texts.set(place, textOf(place));
      const text = texts.get(place) ?? "";
      return titles
        .filter((title) => !hasTest(text, title))
        .map((title) => `${number}: ${place} has no test "${title}"`);
    }),
  );
  return [
    ...repeated.map((number) => `${number} numbers two sentences`),
    ...bare.map((number) => `${number} has no proof in test/proofs.json`),
    ...foreign.map((number) => `${number} of test/proofs.json numbers no sentence`),
    ...lost,
  ];
}

/** A title, a row of a table of titles, or a row of elements: `["askprice", "decimal"]` makes `quote/askprice: decimal`. */
function hasTest(text: string, title: string): boolean {
  if (text.includes(`"${title}"`)) return true;
  const [, path = "", type = ""] = /^([\w/]+): ([\w-]+)$/.exec(title) ?? [];
  const parts = path.split("/");
  return parts.some((_part, from) => text.includes(`["${parts.slice(from).join("/")}", "${type}"]`));
}

const INTRODUCTION = `# Proofs

Each promise of [the page of promises](../docs/promises.md), then each sentence of [the
specification](../docs/makers/spec-coverage.md), with the tests that prove it. Generated from \`test/proofs.json\` by \`npm run docs\`.
`;

/** The page. Throws what \`problemsOf\` finds. */
export function proofsPage(tree: Tree): string {
  const problems = problemsOf(tree);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const entries = tree.sentences.map(({ number, text }) =>
    [
      `## ${number}\n`,
      `${text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")}\n`,
      ...Object.entries(tree.proofs[number] ?? {}).flatMap(([place, titles]) =>
        titles.map((title) => `- \`${place}\`: ${title}`),
      ),
      "",
    ].join("\n"),
  );
  return [INTRODUCTION, ...entries].join("\n");
}
