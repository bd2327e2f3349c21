/** That a checkout can be made on every system, Windows among them, and is the same there. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** What is not checked out. */
const NOT_OURS = new Set([".git", "node_modules", "dist", "data", "coverage", "secrets"]);

const paths = readdirSync(ROOT, { encoding: "utf8" })
  .filter((name) => !NOT_OURS.has(name))
  .flatMap((name) => [name, ...below(name)]);

function below(name: string): string[] {
  const entries = readdirSync(ROOT, { withFileTypes: true });
  if (!entries.find((entry) => entry.name === name)?.isDirectory()) return [];
  return readdirSync(join(ROOT, name), { recursive: true, encoding: "utf8" }).map((path) => join(name, path));
}

test("no file has a name that Windows does not take, or that differs from another one's in its case alone", () => {
  // Microsoft, "Naming Files, Paths, and Namespaces".
  const refused = /[<>:"|?*\u0000-\u001f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

  expect(paths.filter((path) => refused.test(basename(path)))).toEqual([]);
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(paths.length);
});

test("git changes no line end, whatever it is told on a machine", () => {
  const attributes = readFileSync(join(ROOT, ".gitattributes"), "utf8");

  expect(attributes).toMatch(/^\* text=auto eol=lf$/m);
  // One of the recorded answers has line ends of both kinds.
  expect(attributes).toMatch(/^test\/recorded\/\*\* -text$/m);
});
