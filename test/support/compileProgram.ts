/** The program compiled from the sources as they are now, so that edits meanwhile do not change what is under test. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "@swc/core";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** As tsc does, types unchecked, and twenty times as fast. Not typed: `rewriteRelativeImportExtensions` is missing there. */
const COMPILED = {
  swcrc: false,
  jsc: {
    target: "es2023",
    parser: { syntax: "typescript" },
    transform: { verbatimModuleSyntax: true },
    rewriteRelativeImportExtensions: true,
  },
  module: { type: "es6" },
} as const;

/** Compiles into `dir`. @returns the path of `bin/quotekeeper.js` there */
export function compileProgram(dir: string): string {
  for (const file of readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".d.ts")) continue;
    const { code } = transformSync(readFileSync(join(ROOT, "src", file), "utf8"), COMPILED);
    const built = join(dir, "dist", file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, code);
  }
  // The dashboard's page is taken as it was last built.
  if (existsSync(join(ROOT, "dist", "dashboard")))
    cpSync(join(ROOT, "dist", "dashboard"), join(dir, "dist", "dashboard"), { recursive: true });
  for (const name of ["bin", "migrations"]) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(dir, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  return join(dir, "bin", "quotekeeper.js");
}
