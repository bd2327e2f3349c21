/** Puts the documentation beside the dashboard's page: `docs/SLUG.json`, and `docs/index.json` for the search. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { Plugin } from "vite";
import { helpOf } from "./pages.ts";

/** Pages outside of docs/ that a reader of Help is sent to. */
const BESIDE = ["README.md", "CHANGELOG.md"];

/** Every page, by its path from the top of the checkout. */
export function readPages(root: string): Map<string, string> {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name.replaceAll(sep, "/")}`);
  return new Map([...docs, ...BESIDE].map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

/** @param root the checkout */
export function helpPages(root: string): Plugin {
  return {
    name: "quotekeeper-help",
    generateBundle() {
      const { pages, index } = helpOf(readPages(root));
      const emit = (name: string, content: object): void =>
        void this.emitFile({ type: "asset", fileName: `docs/${name}.json`, source: JSON.stringify(content) });
      for (const [slug, page] of pages) emit(slug === "" ? "first-page" : slug, page);
      emit("index", index);
    },
  };
}
