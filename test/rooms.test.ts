/** The house as `src/` draws it: who imports whom, types included. What stands below what is lint's (eslint.config.js). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join("src", name));

/** The files that a file imports, at its start or when it runs. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/(?:from|import|import\()\s*"(\.[^"]+)"/g)]
    .map(([, path = ""]) => join(dirname(file), path))
    .filter((path) => files.includes(path));
}

/** What is left when files that import no other, or none but such, are taken away again and again: the circles. */
function circles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(imports);
  let before: number;
  do {
    before = left.size;
    for (const [file, others] of left) if (!others.some((other) => left.has(other))) left.delete(file);
  } while (left.size < before);
  return [...left.keys()];
}

test("no file imports itself by way of others, not even for a type", () => {
  const imports = new Map(files.map((file) => [file, importsOf(file)]));

  expect([...imports.values()].flat().length).toBeGreaterThan(files.length);
  expect(circles(imports)).toEqual([]);
});

test.each(["CONTRIBUTING.md", "docs/glossary.md"])("every file that %s names is there", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const words = [...text.matchAll(/`([^`]*)`/g)].flatMap(([, code = ""]) => code.split(/\s+/));
  const named = words.filter((word) =>
    /^(?:\.ci|bench|docs|migrations|scripts|src|test)\/[^<*]*$/.test(word),
  );

  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
