/** The directory of this program's package: files are found from there, by the sources and by the built program alike. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Ends with `/`. */
export const PACKAGE_ROOT: string = fileURLToPath(findUpwards(new URL("./", import.meta.url)));

/** How a person calls the program: in a checkout npx has to find it, and may install nothing of that name instead. */
export function programName(): string {
  return existsSync(`${PACKAGE_ROOT}src`) ? "npx --no-install quotekeeper" : "quotekeeper";
}

function findUpwards(dir: URL): URL {
  const above = new URL("..", dir);
  return above.href === dir.href || existsSync(new URL("package.json", dir)) ? dir : findUpwards(above);
}
