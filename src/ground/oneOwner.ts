/**
 * One user owns a data directory and every file in it. Before a command that writes opens anything there, this decides whether it may:
 * the owner goes on, and so does any user where there is no directory yet, or nothing of ours is in one that is open to the user (a
 * volume that a container is given). Any other user is refused, root too: the owner could not read root's files.
 */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join } from "node:path";
import { QuotekeeperError } from "./errors.ts";
import { nameOf, shellWord } from "./users.ts";

/** A directory that one user owns. Its content says which user; an empty one has the user of the directory itself. */
type OwnedDirectory = {
  dir: string;
  /** Names in it that programs of ours make, the one that says most first. */
  parts: readonly string[];
};

/** A data directory. The embedded server's files are not among it: root's belong to another user. */
export function dataDirOwned(dir: string): OwnedDirectory {
  return { dir, parts: ["journal", "collector", "serve", "once", "calls", "dashboard"] };
}

export function lakeOwned(dir: string): OwnedDirectory {
  return { dir, parts: ["lake.json"] };
}

/**
 * @param asked.uid effective user id
 * @param asked.argv the command line behind `quotekeeper`, as it was typed
 * @throws QuotekeeperError OWNER_DIFFERS, before anything is written
 */
export async function refuseOthers(
  directories: readonly OwnedDirectory[],
  { uid, argv }: { uid: number; argv: readonly string[] },
): Promise<void> {
  for (const owned of directories) {
    const found = await ownerOf(owned);
    if (found === null || found.uid === uid) continue;
    if (!found.begun && (await isOpenTo(uid, owned.dir))) continue;
    throw new QuotekeeperError(
      "OWNER_DIFFERS",
      `${found.path} belongs to ${nameOf(found.uid)}, and this command runs as ${nameOf(uid)}: run \`${commandAs(found.uid, argv)}\``,
    );
  }
}

async function ownerOf({ dir, parts }: OwnedDirectory) {
  const top = await stat(dir).catch(() => null);
  if (top === null) return null;
  for (const path of parts.map((part) => join(dir, part))) {
    const found = await stat(path).catch(() => null);
    if (found !== null) return { uid: found.uid, path, begun: true };
  }
  return { uid: top.uid, path: dir, begun: false };
}

/** Whether a user may write to a directory of another one; root may by its mode alone. */
async function isOpenTo(uid: number, dir: string): Promise<boolean> {
  if (uid === 0) return ((await stat(dir)).mode & 0o002) !== 0;
  return access(dir, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The one option that takes secrets: `--key` of `serve` and of `serve keys add`. */
const SECRET_OPTION = "--key";

/** The same command line for another user, to be pasted into a shell; secrets are left out. */
function commandAs(uid: number, argv: readonly string[]): string {
  const sudo = uid === 0 ? ["sudo"] : ["sudo", "-u", nameOf(uid)];
  const words = argv.map((word, at) => {
    if (argv[at - 1] === SECRET_OPTION) return "KEY";
    return word.startsWith(`${SECRET_OPTION}=`) ? `${SECRET_OPTION}=KEY` : word;
  });
  return [...sudo, "quotekeeper", ...words].map(shellWord).join(" ");
}
