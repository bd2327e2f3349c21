/**
 * The sources as JavaScript, one file each. Types are taken away and not checked: `npm run typecheck` does that, and
 * nobody who installs the program waits for it.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { transformSync } from "@swc/core";

/** The page has a compiler of its own, Vite. */
const PAGE = join("web", "app");

/** Compiles the sources in one directory into another. Throws on a syntax error, and as `node:fs` does. */
export function compile(sources, target) {
  for (const file of readdirSync(sources, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".d.ts") || file.startsWith(PAGE)) continue;
    const { code } = transformSync(readFileSync(join(sources, file), "utf8"), {
      filename: join(sources, file),
      swcrc: false,
      jsc: {
        target: "es2023",
        parser: { syntax: "typescript" },
        transform: { verbatimModuleSyntax: true },
        rewriteRelativeImportExtensions: true,
      },
      module: { type: "es6" },
    });
    const built = join(target, file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, code);
  }
}
