/** Puts the documentation beside the dashboard's page, in `docs/`. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { Plugin } from "vite";
import { helpPages } from "./pages.ts";

/** Pages outside of docs/ that a reader is sent to. */
const BESIDE = ["README.md", "CHANGELOG.md"];

/** Every page for readers, by its path from the top of the checkout. */
export function readPages(root: string): Map<string, string> {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith(`makers${sep}`))
    .sort()
    .map((name) => `docs/${name.replaceAll(sep, "/")}`);
  return new Map([...docs, ...BESIDE].map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

/** @param root the checkout */
export function helpPlugin(root: string): Plugin {
  return {
    name: "quotekeeper-help",
    generateBundle() {
      const style = readFileSync(join(root, "src/web/app/style/help.css"), "utf8");
      const files = new Map([...helpPages(readPages(root)), ["help.css", style] as const]);
      for (const [name, source] of files) this.emitFile({ type: "asset", fileName: `docs/${name}`, source });
    },
  };
}
