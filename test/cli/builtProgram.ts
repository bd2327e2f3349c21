/** The program as `npm ci` leaves it, built from the sources as they are now into a directory of the test's own. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import typescript from "typescript";
import { tempDir } from "../support/tempDir.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Builds it; takes a second or two. Returns the path of `bin/quotekeeper.js`. */
export function buildProgram(): string {
  const dir = tempDir();
  for (const file of readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const { outputText } = typescript.transpileModule(readFileSync(join(ROOT, "src", file), "utf8"), {
      compilerOptions: {
        target: typescript.ScriptTarget.ES2023,
        module: typescript.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    });
    const built = join(dir, "dist", file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, outputText);
  }
  cpSync(join(ROOT, "bin"), join(dir, "bin"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(dir, "package.json"));
  for (const name of ["migrations", "node_modules"]) symlinkSync(join(ROOT, name), join(dir, name));
  return join(dir, "bin", "quotekeeper.js");
}
