/** A disk that becomes full while an archive is migrated. */
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { execute, openOwnServer } from "../../support/postgres/server.ts";
import { finish, must, promised } from "../programs.ts";
import { onDisk } from "../onDisk.ts";
import { LeftOut } from "../trial.ts";
import { ask, copyDatabase, digestOf, expectSame, nodesOf, versionOf } from "./archives.ts";
import { given, type Way } from "./earlier.ts";

const DISK = "700m";

/** Beside a copy of an archive: what is written until the disk is filled. */
const ROOM_MB = 256;

/** KB that are left on the disk when `migrate` begins, until it goes through. */
const ROOMS = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 2_048, 4_096, 16_384, 65_536];

/** An archive on a small disk: the database that `migrate` is given, and how somebody else looks into it. */
type OnDisk = {
  disk: string;
  dataDir: string;
  url: string | null;
  look: <T>(work: (url: string) => Promise<T>) => Promise<T>;
};

/**
 * The embedded database of an earlier release, on a disk of its own. Each refusal names the full disk, and leaves the archive as it was.
 *
 * @returns what was seen
 */
export async function fillDisk(way: Way, dir: string, journal: string): Promise<string> {
  const disk = join(dir, `disk-${way.from.name}`);
  mkdirSync(disk);
  return onDisk(disk, DISK, async () => {
    const dataDir = join(disk, "data");
    cpSync(journal, join(dataDir, "journal"), { recursive: true });
    await must(process.execPath, [way.from.bin, "backfill", "--journal"], given(dataDir, null));
    const look = async <T>(work: (url: string) => Promise<T>): Promise<T> => onServer(dataDir, work);
    return migrateWithLittleRoom(way, { disk, dataDir, url: null, look });
  });
}

/**
 * The same with a copy of an archive on a server of this machine, in a tablespace on the small disk: catalogs and tables are there, the WAL
 * is not.
 *
 * @param from the database that is copied
 */
export async function fillTablespace(
  way: Way,
  { server, from, dataDir }: { server: string; from: string; dataDir: string },
): Promise<string> {
  const nodes = await nodesOf(server);
  const disk = join(dataDir, "disk");
  mkdirSync(disk);
  let bytes = 0;
  for (const node of nodes) bytes += await bytesOf(node);
  return onDisk(disk, `${Math.ceil(bytes / 1e6) + ROOM_MB}m`, async () => {
    for (const [place, node] of nodes.entries()) await makeTablespace(node, join(disk, String(place)));
    const { url, drop } = await copyDatabase(server, { from, name: "full", tablespace: TABLESPACE });
    try {
      const look = async <T>(work: (url: string) => Promise<T>): Promise<T> => work(url);
      return await migrateWithLittleRoom(way, { disk, dataDir, url, look });
    } finally {
      await drop();
      for (const node of nodes) await execute(node, [`drop tablespace ${TABLESPACE}`]);
    }
  });
}

const TABLESPACE = `quotekeeper_upgrades_${process.pid}`;

async function bytesOf(node: string): Promise<number> {
  const [row] = await ask(node, "select max(pg_database_size(oid)) as bytes from pg_database");
  return Number(row?.["bytes"]);
}

/** @throws LeftOut where the server is on another machine */
async function makeTablespace(node: string, directory: string): Promise<void> {
  const [row] = await ask(node, "select current_setting('data_directory') as there");
  const there = String(row?.["there"]);
  if (!existsSync(there))
    throw new LeftOut("the server is on another machine: its disk cannot be filled here");
  mkdirSync(directory);
  chownSync(directory, statSync(there).uid, statSync(there).gid);
  await execute(node, [`create tablespace ${TABLESPACE} location '${directory}'`]);
}

async function migrateWithLittleRoom(
  { from, steps }: Way,
  { disk, dataDir, url, look }: OnDisk,
): Promise<string> {
  const before = await look(digestOf);
  const refused: number[] = [];
  for (const { bin, name } of steps) {
    for (const kb of ROOMS) {
      const ballast = leave(disk, kb);
      const { code, text } = await finish(process.execPath, [bin, "migrate"], given(dataDir, url));
      rmSync(ballast);
      if (code === 0) break;
      promised(/^DISK_FULL: /m.test(text), `${name} names the full disk`, text);
      refused.push(kb);
      await look(async (there) => expectSame(there, before, `refused by ${name} with ${kb} KB`));
    }
    await must(process.execPath, [bin, "migrate"], given(dataDir, url));
  }
  await look(async (there) => expectSame(there, before, "with room"));
  promised(refused.length > 0, "a disk is too small", refused);
  const version = await look(versionOf);
  return `${from.name} on a full disk: refused with ${refused.join(", ")} KB left, nothing changed; with room at version ${version}`;
}

/** Writes so much that so many KB are left. @returns the file */
function leave(disk: string, kb: number): string {
  const { bavail, bsize } = statfsSync(disk);
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - kb * 1_024)));
  return ballast;
}

/** Looks into an embedded database while no program has it open. */
async function onServer<T>(dataDir: string, look: (url: string) => Promise<T>): Promise<T> {
  const server = await openOwnServer(dataDir);
  try {
    return await look(server.url);
  } finally {
    await server.close();
  }
}
