/** `npm run fake -- tradier [flags]`, or etrade: starts a fake of a living service for people; the flags are in its main.ts. */
import { existsSync } from "node:fs";
import { allowTypescript } from "../support/postgres/typescript.js";

const [name = ""] = process.argv.splice(2, 1);
const main = new URL(`./${name}/main.ts`, import.meta.url);
if (!/^[a-z]+$/.test(name) || !existsSync(main)) {
  process.stderr.write("Which service? npm run fake -- tradier, or npm run fake -- etrade\n");
  process.exit(2);
}
allowTypescript();
await import(main.href);
