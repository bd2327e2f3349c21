/** Lets the process that runs jest import our TypeScript: jest transforms it for the tests only. */
import { transformSync } from "@swc/core";
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

/** A hook of node's module loader. */
export function load(url, context, nextLoad) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const { code } = transformSync(readFileSync(filename, "utf8"), {
    filename,
    swcrc: false,
    sourceMaps: "inline",
    jsc: { target: "es2022", parser: { syntax: "typescript" } },
    module: { type: "es6" },
  });
  return { format: "module", source: code, shortCircuit: true };
}

/** Makes `import()` of `.ts` files work in this process from now on. */
export function allowTypescript() {
  // `register` is all that Node 20 has; newer ones deprecate it.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ load });
  else nodeModule.register(import.meta.url);
}
