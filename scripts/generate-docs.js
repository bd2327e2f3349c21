/**
 * `npm run docs` writes the generated pages; `npm run docs:check` writes nothing, and fails when one is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { generatePages } = await import("./docs/pages.ts");

const root = new URL("../", import.meta.url);
const check = process.argv.includes("--check");
for (const { path, text } of await generatePages()) {
  if (contentOf(path) === text) continue;
  if (check) {
    console.error(`${path} is stale: run \`npm run docs\`.`);
    process.exitCode = 1;
  } else {
    writeFileSync(new URL(path, root), text);
    console.log(`wrote ${path}`);
  }
}

function contentOf(path) {
  try {
    return readFileSync(new URL(path, root), "utf8");
  } catch {
    return null;
  }
}
