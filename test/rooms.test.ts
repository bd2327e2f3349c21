/** The house as `src/` draws it: who imports whom, types included. What stands below what is lint's (eslint.config.js). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join("src", name));

/** They, and what else may use them. */
const sources = ["test", "bench", "scripts"].reduce(
  (all, dir) => [
    ...all,
    ...readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(dir, name)),
  ],
  files,
);

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** The files that a file imports, at its start or when it runs. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import|import\()\s*"(\.[^"]+)"/g)]
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

test("a name of a file is used once in the house", () => {
  const names = files.map((file) => basename(file));

  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
});

test("what one file uses is not exported, but for assumptions, which docs/assumptions.md lists", () => {
  const elsewhere = new Set<string>();
  for (const file of sources)
    for (const [, names = "", path = ""] of read(file).matchAll(/\{([^{}]*)\}\s*from\s*"(\.[^"]+)"/g))
      for (const name of names.split(","))
        elsewhere.add(
          `${join(dirname(file), path)} ${
            name
              .trim()
              .replace(/^type /, "")
              .split(" as ")[0] ?? ""
          }`,
        );
  // Loaded whole: by a test of all tables, by the program's own start, or when a command is given.
  const whole = sources.flatMap((file) =>
    [...read(file).matchAll(/(?:import\(|\* as \w+ from)\s*"(\.[^"]+)"/g)].map(([, path = ""]) =>
      join(dirname(file), path),
    ),
  );
  const loaded = new Set([...whole, join("src", "cli", "main.ts")]);
  const exported = files
    .filter((file) => !loaded.has(file))
    .flatMap((file) =>
      [
        ...read(file).matchAll(
          /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?(?:abstract )?(?:const|let|function\*?|class|type) (\w+)/gm,
        ),
      ]
        .filter(([, docstring = ""]) => !docstring.includes("Assumed:"))
        .map(([, , name = ""]) => `${file} ${name}`),
    );

  expect(exported.length).toBeGreaterThan(1_000);
  expect(exported.filter((one) => !elsewhere.has(one))).toEqual([]);
});

test.each(["CONTRIBUTING.md", "docs/glossary.md"])("every file that %s names is there", (page) => {
  const words = [...read(page).matchAll(/`([^`]*)`/g)].flatMap(([, code = ""]) => code.split(/\s+/));
  const named = words.filter((word) =>
    /^(?:\.ci|bench|docs|migrations|scripts|src|test)\/[^<*]*$/.test(word),
  );

  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
