/** The directories of a statement of `sql`: a temporary one, and one in the data directory's cache. */
import { constants } from "node:fs";
import { access, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HotPlaces } from "../files/sql/hotFiles.ts";
import { makeDirectories } from "../journal/makeDirectories.ts";
import { isGone, PROCESSES } from "../ground/processes.ts";

const OWN = "quotekeeper-sql-";

/** Only the data directory's owner may read them. */
const MODE = 0o700;

/** The directories, until `close` removes those of the statement. */
type SqlDirs = {
  /** For what DuckDB has no memory for. */
  temp: string;
  places: HotPlaces;
  /** Why the database's rows are kept for no other statement; null: they are kept. */
  why: string | null;
  close: () => Promise<void>;
};

/** @param dataDir absolute; null: no rows of a database are read */
export async function openSqlDirs(dataDir: string | null, ownUid: number | undefined): Promise<SqlDirs> {
  const temp = await makeOwnDir(tmpdir());
  const close = (...dirs: string[]): Promise<void> =>
    dirs.reduce((done, dir) => done.then(() => rm(dir, { recursive: true, force: true })), Promise.resolve());
  const without = (why: string | null): SqlDirs => ({
    temp,
    places: { own: join(temp, "rows"), cache: null },
    why,
    close: () => close(temp),
  });
  if (dataDir === null) return without(null);
  try {
    const { uid } = await stat(dataDir);
    if (ownUid !== undefined && ownUid !== uid) return without(`${dataDir} belongs to another user`);
    await access(dataDir, constants.W_OK);
    const { dir, own } = await makeCacheDir(dataDir);
    return {
      temp,
      places: { own, cache: join(dir, "files") },
      why: null,
      close: () => close(temp, own),
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return without(
      code === "ENOENT"
        ? `there is no data directory ${dataDir}`
        : `${dataDir} cannot be written (${code ?? message})`,
    );
  }
}

/** The cache of a data directory, and a directory of a statement's own in it. @param dataDir absolute */
export async function makeCacheDir(dataDir: string): Promise<{ dir: string; own: string }> {
  const dir = join(dataDir, "cache", "sql");
  await makeDirectories(dir, MODE);
  return { dir, own: await makeOwnDir(dir) };
}

/** A directory that only this user can read. Directories of killed processes are removed. */
async function makeOwnDir(parent: string): Promise<string> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, pid] = new RegExp(`^${OWN}(\\d+)-\\w{6}$`, "u").exec(name) ?? [];
    if (pid !== undefined && Number(pid) !== PROCESSES.pid && isGone(Number(pid), PROCESSES))
      await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
  return mkdtemp(join(parent, `${OWN}${PROCESSES.pid}-`));
}
