/** The program compiled from the sources as they are now, so that edits meanwhile do not change what is under test. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Compiles into `dir`. A run of the tests compiles the program once, and copies it.
 *
 * @returns the path of `bin/quotekeeper.js` there
 */
export function compileProgram(dir: string): string {
  const once = process.env["TEST_PROGRAM"];
  if (once === undefined) compileInto(join(dir, "dist"));
  else cpSync(compiledOnce(once), join(dir, "dist"), { recursive: true });
  // The dashboard's page is taken as it was last built.
  if (existsSync(join(ROOT, "dist", "dashboard")))
    cpSync(join(ROOT, "dist", "dashboard"), join(dir, "dist", "dashboard"), { recursive: true });
  for (const name of ["bin", "migrations"]) cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(dir, "package.json"));
  // On Windows a link to a directory needs no rights if it is a junction; elsewhere that is any link.
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"), "junction");
  return join(dir, "bin", "quotekeeper.js");
}

/** Compiles some of its modules alone, given as paths below src/ without their ending, into `dist` of `dir`. */
export function compileModules(dir: string, ...entries: string[]): void {
  compileInto(join(dir, "dist"), entries);
  cpSync(join(ROOT, "package.json"), join(dir, "package.json"));
}

function compileInto(target: string, entries: readonly string[] = []): void {
  execFileSync(process.execPath, [join(ROOT, "scripts", "compile.js"), target, ...entries]);
}

/** Where several test files ask at once, one of them has its way, and the others' are left to the run's end. */
function compiledOnce(target: string): string {
  if (existsSync(target)) return target;
  const draft = `${target}.${process.pid}`;
  compileInto(draft);
  try {
    renameSync(draft, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
  return target;
}
