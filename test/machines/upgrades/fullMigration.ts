/** A disk that becomes full while an archive is migrated. */
import { cpSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openOwnServer } from "../../support/postgres/server.ts";
import { finish, must, promised } from "../programs.ts";
import { onDisk } from "../onDisk.ts";
import { digestOf, expectSame, versionOf } from "./archives.ts";
import { given, type Way } from "./earlier.ts";

const DISK = "700m";

/** KB that are left on the disk when `migrate` begins, until it goes through. */
const ROOMS = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 2_048, 4_096, 16_384, 65_536];

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
    return migrateWithLittleRoom(way, disk, dataDir);
  });
}

async function migrateWithLittleRoom({ from, steps }: Way, disk: string, dataDir: string): Promise<string> {
  const before = await onServer(dataDir, digestOf);
  const refused: number[] = [];
  for (const { bin, name } of steps) {
    for (const kb of ROOMS) {
      const ballast = leave(disk, kb);
      const { code, text } = await finish(process.execPath, [bin, "migrate"], given(dataDir, null));
      rmSync(ballast);
      if (code === 0) break;
      promised(/^DISK_FULL: /m.test(text), `${name} names the full disk`, text);
      refused.push(kb);
      await onServer(dataDir, (url) => expectSame(url, before, `refused by ${name} with ${kb} KB`));
    }
    await must(process.execPath, [bin, "migrate"], given(dataDir, null));
  }
  await onServer(dataDir, (url) => expectSame(url, before, "with room"));
  promised(refused.length > 0, "a disk is too small", refused);
  const version = await onServer(dataDir, versionOf);
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
