/**
 * Makes `npx quotekeeper` work in a checkout: npm links the programs of dependencies into node_modules/.bin, but not a
 * package's own. Without the link npx would install the checkout into its cache first, slowly, and once for each path.
 */
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const link = fileURLToPath(new URL("../node_modules/.bin/quotekeeper", import.meta.url));

// On Windows a link needs rights that few users have; npx finds its own way there.
if (process.platform !== "win32") {
  mkdirSync(fileURLToPath(new URL("../node_modules/.bin", import.meta.url)), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync("../../bin/quotekeeper.js", link);
}
