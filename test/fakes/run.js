/** `npm run fake -- alpaca [flags]`, tradier or etrade: starts a fake of a living service for people; the flags are in its main.ts. */
import { existsSync, readFileSync } from "node:fs";
import { allowTypescript } from "../support/postgres/typescript.js";

const [name = ""] = process.argv.splice(2, 1);
const main = new URL(`./${name}/main.ts`, import.meta.url);
if (!/^[a-z]+$/.test(name) || !existsSync(main)) {
  process.stderr.write("Which service? npm run fake -- alpaca, tradier or etrade\n");
  process.exit(2);
}
if (process.argv.includes("--help")) {
  const [head = ""] = readFileSync(main, "utf8").split("*/");
  process.stdout.write(
    `${head
      .replace(/^\/\*\*\n/, "")
      .replace(/^ \* ?/gm, "")
      .trim()}\n`,
  );
  process.exit(0);
}
allowTypescript();
try {
  await import(main.href);
} catch (error) {
  if (!String(error.code).startsWith("ERR_PARSE_ARGS")) throw error;
  process.stderr.write(`${error.message} (--help tells the flags)\n`);
  process.exit(2);
}
