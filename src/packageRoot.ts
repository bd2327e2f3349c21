/** The directory of this program's package: files are found from there, by the sources and by the built program alike. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Ends with `/`. */
export const PACKAGE_ROOT: string = fileURLToPath(findUpwards(new URL("./", import.meta.url)));

function findUpwards(dir: URL): URL {
  const above = new URL("..", dir);
  return above.href === dir.href || existsSync(new URL("package.json", dir)) ? dir : findUpwards(above);
}
