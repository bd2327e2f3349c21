import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";

const ROOT = new URL("../../", import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

const pages = readdirSync(new URL("docs/", ROOT))
  .filter((name) => /^(guarantees|security)-.*\.md$/.test(name))
  .map((name) => `docs/${name}`);

describe.each(pages)("of what %s promises", (path) => {
  const [promised = ""] = textOf(path).split("## What is not promised");
  /** The lines below a promise: a file of tests and a title, or a command and what it does. */
  const proofs = [...promised.matchAll(/^ +- `([^`]+)`: (.+)$/gm)].map(([, where = "", title = ""]) => ({
    where,
    title,
  }));

  test.each(proofs.filter(({ where }) => where.startsWith("test/")))(
    "the proof exists: $where, $title",
    ({ where, title }) => {
      expect(existsSync(new URL(where, ROOT))).toBe(true);
      expect(textOf(where)).toContain(`"${title}"`);
    },
  );

  test("each has a proof, and every command it names is there", () => {
    const promises = promised.split(/^(?=\d+\. )/m).slice(1);
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };

    expect(promises.length).toBeGreaterThan(3);
    for (const promise of promises) expect(promise).toMatch(/^ +- `/m);
    for (const { where } of proofs.filter(({ where }) => where.startsWith("npm run ")))
      expect(Object.keys(scripts)).toContain(where.replace("npm run ", ""));
  });
});

test("the first page of promises, and that of attackers, leads to each of the others", () => {
  for (const page of pages) {
    const [, first = "", name = ""] = /^docs\/((?:guarantees|security)-?)(.*)\.md$/.exec(page) ?? [];
    expect(textOf(`docs/${first.replace("-", "")}.md`)).toContain(`](${first}${name}.md)`);
  }
});
