import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";

const ROOT = new URL("../../", import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

/** The parts of both pages of promises that have numbered promises: a page, the part's heading, its text. */
const parts = ["docs/guarantees.md", "docs/security.md"].flatMap((page) =>
  textOf(page)
    .split(/^## /m)
    .slice(1)
    .map((part) => ({ page, heading: part.split("\n", 1)[0] ?? "", text: part })),
);

test("each page of promises has its parts", () => {
  const countOf = (page: string): number => parts.filter((part) => part.page === page).length;

  expect([countOf("docs/guarantees.md"), countOf("docs/security.md")]).toEqual([8, 6]);
});

describe.each(parts)("$page, $heading", ({ text }) => {
  const [promised = ""] = text.split("### What is not promised");
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

  test("each promise has a proof, and every command that it names exists", () => {
    const promises = promised.split(/^(?=\d+\. )/m).slice(1);
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };

    expect(promises.length).toBeGreaterThan(3);
    for (const promise of promises) expect(promise).toMatch(/^ +- `/m);
    for (const { where } of proofs.filter(({ where }) => where.startsWith("npm run ")))
      expect(Object.keys(scripts)).toContain(where.replace("npm run ", ""));
  });
});
