/** Lets a process import our TypeScript, and a worker of jest each test file anew. */
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "@swc/wasm-typescript";

const RUNNER = new URL("../jest-circus/runner.js", import.meta.url).href;
const OURS = new URL("../../../", import.meta.url).href;

/** What a test file has of its own, by the name of its query: the modules of the tests, or the program as well. */
const ANEW = { test: [`${OURS}test/`], program: [`${OURS}test/`, `${OURS}src/`] };

/** A hook of node's module loader: hands the query of a test file on to what it imports. */
export function resolve(specifier, context, nextResolve) {
  const [, query = ""] = context.parentURL?.split("?") ?? [];
  const anew = ANEW[query.split("=")[0]];
  if (anew === undefined) return nextResolve(specifier, context);
  if (specifier === "@jest/globals") return { url: RUNNER, shortCircuit: true };
  const mark = (found) =>
    anew.some((dir) => found.url.startsWith(dir)) ? { ...found, url: `${found.url}?${query}` } : found;
  const found = nextResolve(specifier, context);
  // A hook in a thread of its own, as `register` makes it, is given a promise.
  return found instanceof Promise ? found.then(mark) : mark(found);
}

/** Another: blanks types out, so that lines and columns stay what they are, and no stack needs a source map. */
export function load(url, context, nextLoad) {
  const [file] = url.split("?");
  if (!file.startsWith("file:") || !file.endsWith(".ts")) return nextLoad(url, context);
  const path = fileURLToPath(file);
  const { code } = transformSync(readFileSync(path, "utf8"), { mode: "strip-only", module: true });
  return { format: "module", source: `${code}\n//# sourceURL=${path}`, shortCircuit: true };
}

let allowed = false;

/** Makes `import()` of `.ts` files work in this process from now on. */
export function allowTypescript() {
  if (allowed) return;
  allowed = true;
  // `register` is all that Node 20 has; newer ones deprecate it.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve, load });
  else nodeModule.register(import.meta.url);
}
