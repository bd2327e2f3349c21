import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createPool } from "../../src/archive/connect/connect.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { startTestServer } from "../support/postgres/server.ts";
import { must } from "./programs.ts";
import type { Trial } from "./trial.ts";
import { digestOf, expectSame, makeDatabase, versionOf, wishesOn } from "./upgrades/archives.ts";
import { given, type Way, waysHere, writeJournal } from "./upgrades/earlier.ts";
import { fillDisk } from "./upgrades/fullMigration.ts";
import { killEach } from "./upgrades/kills.ts";
import { goBack, succeed } from "./upgrades/successors.ts";

/** Of the archive on the full disk. */
const FEW = 20_000;

export const trial: Trial = {
  name: "upgrades",
  title:
    "Archives of the first release and of a later one are upgraded: in place, killed at each migration, on a full disk, with a collector that takes over, and back by the journal.",
  run: async (tools) => {
    const embedded = tools.servers.length === 0 ? await startTestServer() : null;
    try {
      const seen: string[] = [];
      for (const way of await waysHere(tools)) {
        const [large, small] = [join(tools.dir, way.from.name), join(tools.dir, `${way.from.name}-few`)];
        await writeJournal(way, large, tools.quotes);
        await writeJournal(way, small, FEW);
        for (const server of embedded ? [embedded.url] : tools.servers)
          seen.push(await onServer(way, { server, dataDir: large, say: tools.say }));
        if (embedded) seen.push(await fillDisk(way, tools.dir, join(small, "journal")));
        tools.say(seen.at(-1) ?? "");
      }
      return seen.join("; ");
    } finally {
      await embedded?.close();
    }
  },
};

type Ground = { server: string; dataDir: string; say: (line: string) => void };

async function onServer(way: Way, ground: Ground): Promise<string> {
  const isFirst = way.steps.length > 1;
  if (isFirst && (await wishesOn(ground.server)).length > 0) return `${way.from.name} knows no Citus`;
  const { say } = ground;
  const inPlace = await filled(way, ground, "place", async (url) => {
    const taken: string[] = [];
    for (const { bin, name } of way.steps) {
      const startMs = performance.now();
      await must(process.execPath, [bin, "migrate"], given(ground.dataDir, url));
      taken.push(
        `${name} took ${((performance.now() - startMs) / 1_000).toFixed(1)} s to version ${await versionOf(url)}`,
      );
    }
    return taken.join(", ");
  });
  say(`${way.from.name}, in place: ${inPlace}`);
  const killed = await filled(way, ground, "kills", async (url) => {
    let kills = 0;
    for (const step of way.steps) kills += await killEach(step, ground.dataDir, url);
    return `${kills} kills`;
  });
  say(`${way.from.name}: ${killed}`);
  const followed = await follow(way, ground);
  say(followed);
  return `${inPlace}; ${killed}; ${followed}`;
}

/** Has the earlier release fill an archive; after the work every row and bar is as it was. */
async function filled(
  way: Way,
  { server, dataDir }: Ground,
  name: string,
  work: (url: string) => Promise<string>,
): Promise<string> {
  const { url, drop } = await makeDatabase(server, name);
  try {
    await must(process.execPath, [way.from.bin, "migrate", ...(await wishesOn(server))], given(dataDir, url));
    await must(process.execPath, [way.from.bin, "backfill", "--journal"], given(dataDir, url));
    const before = await digestOf(url);
    const seen = await work(url);
    await expectSame(url, before, name);
    const pool = createPool(url, { max: 1 });
    const tier = describeTier(await readTier(pool));
    await pool.end();
    return `${way.from.name} on ${tier}, ${before[0]?.rows["n"] ?? "0"} quotes: ${seen}`;
  } finally {
    await drop();
  }
}

/** The new collector after the old one, and back. */
async function follow(way: Way, { server, dataDir }: Ground): Promise<string> {
  const { url, drop } = await makeDatabase(server, "followed");
  const own = join(dataDir, "..", `${way.from.name}-followed`);
  mkdirSync(own, { recursive: true });
  try {
    const seen = await succeed(way, { dataDir: own, url, server });
    return `${seen}; ${await goBack(way, { dataDir: own, url, server })}`;
  } finally {
    await drop();
  }
}
