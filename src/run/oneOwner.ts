/**
 * One user owns a data directory and every file in it. Before a command opens anything there, this decides whether it may:
 *
 * - the owner goes on, and so does any user where there is no directory yet, or nothing of ours is in one that the user may
 *   write to (a volume that a container is given);
 * - root becomes the owner, for good. Settings and their secrets have been read by then, with root's rights;
 * - any other user is refused, unless the command only reads: then the rights of the files decide.
 */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { QuotekeeperError } from "../errors.ts";
import { reasonOf } from "../journal/fs.ts";
import { nameOf, shellWord, userOf } from "../users.ts";
import type { ProcessUser } from "./edges.ts";

/** A directory that one user owns. Its content says which user; an empty one has the user of the directory itself. */
type Owned = {
  dir: string;
  /** Names in it that programs of ours make, the one that says most first. */
  parts: readonly string[];
};

/** A data directory. The embedded server's files are not among it: root's belong to another user. */
export function dataDirOwned(dir: string): Owned {
  return { dir, parts: ["journal", "collector", "serve", "sweeps", "calls", "dashboard"] };
}

/** A lake. */
export function lakeOwned(dir: string): Owned {
  return { dir, parts: ["lake.json"] };
}

/** Who asks, and for what. */
type Asked = {
  user: ProcessUser;
  /** Whether the command leaves everything as it is. */
  readsOnly: boolean;
  /** The command line behind `quotekeeper`, as it was typed. */
  argv: readonly string[];
};

/**
 * Takes directories in their order; the first that is there decides whom root becomes.
 *
 * @returns the user that root has become, and the directory whose owner that is; null: nobody
 * @throws QuotekeeperError OWNER_DIFFERS, before anything is written
 */
export async function workAsOwner(
  directories: readonly Owned[],
  { user, readsOnly, argv }: Asked,
): Promise<{ name: string; dir: string } | null> {
  let decided = false;
  let became: { name: string; dir: string } | null = null;
  for (const owned of directories) {
    const found = await ownerOf(owned);
    if (found === null) continue;
    const { uid, gid, path, begun } = found;
    const first = !decided;
    decided = true;
    if (uid === user.id()) continue;
    const refused = (why: string): QuotekeeperError =>
      new QuotekeeperError(
        "OWNER_DIFFERS",
        `${path} belongs to ${nameOf(uid)}, and ${why}: run \`${commandAs(uid, argv)}\``,
      );
    if (user.id() === 0 && first) {
      await become(user, { uid, gid }).catch((cause: unknown) => {
        throw refused(`root cannot become that user here (${reasonOf(cause)})`);
      });
      became = { name: nameOf(uid), dir: owned.dir };
    } else if (!readsOnly && (begun || !(await isWritable(owned.dir))))
      throw refused(`this command runs as ${nameOf(user.id())}`);
  }
  return became;
}

async function ownerOf({ dir, parts }: Owned) {
  const top = await stat(dir).catch(() => null);
  if (top === null) return null;
  for (const path of parts.map((part) => join(dir, part))) {
    const found = await stat(path).catch(() => null);
    if (found !== null) return { uid: found.uid, gid: found.gid, path, begun: true };
  }
  return { uid: top.uid, gid: top.gid, path: dir, begun: false };
}

async function become(user: ProcessUser, ids: { uid: number; gid: number }): Promise<void> {
  user.become(userOf(ids.uid) ?? ids);
  // What a command needs of the program is loaded when it is needed: by that user.
  await access(fileURLToPath(import.meta.url), constants.R_OK);
}

async function isWritable(dir: string): Promise<boolean> {
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
