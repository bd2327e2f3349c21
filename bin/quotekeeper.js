#!/usr/bin/env node
// The program is compiled into dist/ by `npm ci` (its prepare script) or `npm run build`.
import { existsSync } from "node:fs";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write(
    "quotekeeper is not built yet: run `npm ci` (or `npm run build`) in the checkout first.\n",
  );
  process.exitCode = 1;
}
