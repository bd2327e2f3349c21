/** `node bench/run.js NAME ...` runs bench/NAME/main.ts as it is: compiled into dist/ it would not find the migrations. */
import { fileURLToPath } from "node:url";
import { allowTypescript } from "../test/support/postgres/typescript.js";

const [name] = process.argv.splice(2, 1);
const main = new URL(`${name}/main.ts`, import.meta.url);
process.argv[1] = fileURLToPath(main);
await import("./record.js");
allowTypescript();
await import(main.href);
