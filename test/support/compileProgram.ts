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
import typescript from "typescript";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Compiles into `dir`. @returns the path of `bin/quotekeeper.js` there */
export function compileProgram(dir: string): string {
  for (const file of readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".d.ts")) continue;
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
  // The dashboard's page is taken as it was last built.
  if (existsSync(join(ROOT, "dist", "dashboard")))
    cpSync(join(ROOT, "dist", "dashboard"), join(dir, "dist", "dashboard"), { recursive: true });
  for (const name of ["bin", "migrations"]) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(dir, "package.json"));
  // On Windows a link to a directory needs no rights if it is a junction; elsewhere that is any link.
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"), "junction");
  return join(dir, "bin", "quotekeeper.js");
}
