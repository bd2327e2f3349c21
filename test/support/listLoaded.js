/** Preloaded into the program with `--import`: writes down each module that is loaded, in the file LOADED names. */
import { register } from "node:module";

const hook = `
import { appendFileSync } from "node:fs";
export async function load(url, context, nextLoad) {
  appendFileSync(process.env.LOADED, url + "\\n");
  return nextLoad(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
