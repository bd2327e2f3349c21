/** Where the program's package is: its files are found from there, from the sources as from what is built of them. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The directory of package.json, with `/` at its end. */
export const PACKAGE_ROOT: string = fileURLToPath(findUpwards(new URL("./", import.meta.url)));

function findUpwards(dir: URL): URL {
  const above = new URL("..", dir);
  return above.href === dir.href || existsSync(new URL("package.json", dir)) ? dir : findUpwards(above);
}
