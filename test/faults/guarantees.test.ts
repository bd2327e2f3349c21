import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";

const ROOT = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/guarantees.md", ROOT), "utf8");

/** The lines below a promise: a file of tests and a title, or a command and what it does. */
const proofs = [...page.matchAll(/^ +- `([^`]+)`: (.+)$/gm)].map(([, where = "", title = ""]) => ({
  where,
  title,
}));

test.each(proofs.filter(({ where }) => where.startsWith("test/")))(
  "the proof named in docs/guarantees.md exists: $where, $title",
  ({ where, title }) => {
    const file = new URL(where, ROOT);

    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, "utf8")).toContain(`"${title}"`);
  },
);

test("every promise of docs/guarantees.md has a proof, and every command it names is there", () => {
  const [promised = ""] = page.split("## What is not promised");
  const promises = promised.split(/^(?=\d+\. )/m).slice(1);
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as {
    scripts: Record<string, string>;
  };

  expect(promises.length).toBeGreaterThan(10);
  for (const promise of promises) expect(promise).toMatch(/^ +- `/m);
  for (const { where } of proofs.filter(({ where }) => where.startsWith("npm run ")))
    expect(Object.keys(scripts)).toContain(where.replace("npm run ", ""));
});
