/** Where sockets are reached, the server's and the collector's: a path to one has little room. */
import { createHash } from "node:crypto";
import { readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../ground/errors.ts";
import { makePrivateDir } from "./reachable.ts";

/** Bytes that every system takes, with the name of the socket: 104 on macOS, 108 on Linux, each with a zero at the end. */
const MOST_BYTES = 103;

/** The server's longest name of a socket. */
const LONGEST_NAME = "/.s.PGSQL.65535";

/**
 * By what name to reach a directory of sockets: its own, or where that is too long, a short link to it in a directory that
 * only we may write. On Windows, where Node knows no such sockets, the loopback address, as the driver's host.
 *
 * @param links directories for the link, best first
 * @param options.longestName of a socket there, with the separator before it; default: the server's
 * @throws QuotekeeperError EMBEDDED_FAILED where there is none
 */
export async function socketDir(
  dir: string,
  links: readonly string[],
  { platform = process.platform as string, longestName = LONGEST_NAME } = {},
): Promise<string> {
  if (platform === "win32") return "127.0.0.1";
  if (fits(dir, longestName)) return dir;
  const name = createHash("sha256").update(dir).digest("hex").slice(0, 16);
  for (const cache of links) {
    const link = join(cache, name);
    if (!fits(link, longestName) || !(await makePrivateDir(cache))) continue;
    // It is made in one step and never taken away: whoever asks at the same time finds it, or makes the same.
    await symlink(dir, link).catch(() => undefined);
    if ((await readlink(link).catch(() => null)) === dir) return link;
  }
  throw new QuotekeeperError(
    "EMBEDDED_FAILED",
    `${dir} is too long a name for a socket in it, and no link to it could be made in ${links.join(" or ")}`,
  );
}

function fits(dir: string, longestName: string): boolean {
  return Buffer.byteLength(dir + longestName) <= MOST_BYTES;
}
