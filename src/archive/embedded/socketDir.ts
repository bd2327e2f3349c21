/** Where the server's socket is reached: a path to a socket has little room. */
import { createHash } from "node:crypto";
import { rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "../../errors.ts";
import { makePrivateDir } from "./reachable.ts";

/** Bytes that every system takes, with the name of the socket: 104 on macOS, 108 on Linux, each with a zero at the end. */
const MOST_BYTES = 103;
const LONGEST_NAME = "/.s.PGSQL.65535";

/**
 * What to give the driver as host: the cluster's directory, or where that is too long, a short link to it in a directory
 * that only we may write. On Windows, where Node knows no such sockets, the loopback address.
 *
 * @param links directories for the link, best first
 * @throws QuotekeeperError EMBEDDED_FAILED where there is none
 */
export async function socketDir(
  clusterDir: string,
  links: readonly string[],
  platform: string = process.platform,
): Promise<string> {
  if (platform === "win32") return "127.0.0.1";
  if (fits(clusterDir)) return clusterDir;
  const name = createHash("sha256").update(clusterDir).digest("hex").slice(0, 16);
  for (const dir of links) {
    const link = join(dir, name);
    if (!fits(link) || !(await makePrivateDir(dir))) continue;
    const draft = `${link}.new-${process.pid}`;
    await rm(draft, { force: true });
    await symlink(clusterDir, draft);
    await rename(draft, link);
    return link;
  }
  throw new QuotekeeperError(
    "EMBEDDED_FAILED",
    `${clusterDir} is too long a name for a socket in it, and no link to it could be made in ${links.join(" or ")}`,
  );
}

function fits(dir: string): boolean {
  return Buffer.byteLength(dir + LONGEST_NAME) <= MOST_BYTES;
}
