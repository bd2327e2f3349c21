import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createPool } from "../../src/archive/connect/connect.ts";
import { describeTier, readTier } from "../../src/archive/tiers/tier.ts";
import { startTestServer } from "../support/postgres/server.ts";
import { must } from "./programs.ts";
import type { Trial } from "./trial.ts";
import {
  copyDatabase,
  type Digest,
  digestOf,
  expectSame,
  makeDatabase,
  versionOf,
  wishesOn,
} from "./upgrades/archives.ts";
import { given, type Way, waysHere, writeJournal } from "./upgrades/earlier.ts";
import { fillDisk, fillTablespace } from "./upgrades/fullMigration.ts";
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
          seen.push(
            await onServer(way, { server, dataDir: large, fillsTablespace: !embedded, say: tools.say }),
          );
        if (embedded) seen.push(await fillDisk(way, tools.dir, join(small, "journal")));
        tools.say(seen.at(-1) ?? "");
      }
      return seen.join("; ");
    } finally {
      await embedded?.close();
    }
  },
};

type Ground = { server: string; dataDir: string; fillsTablespace: boolean; say: (line: string) => void };

async function onServer(way: Way, ground: Ground): Promise<string> {
  const { server, dataDir, say } = ground;
  const isFirst = way.steps.length > 1;
  const wishes = await wishesOn(server);
  if (isFirst && wishes.length > 0) return `${way.from.name} knows no Citus`;
  const { url, drop } = await makeDatabase(server, "filled");
  const seen: string[] = [];
  try {
    await must(process.execPath, [way.from.bin, "migrate", ...wishes], given(dataDir, url));
    await must(process.execPath, [way.from.bin, "backfill", "--journal"], given(dataDir, url));
    const before = await digestOf(url);
    seen.push(`${way.from.name} on ${await tierOf(url)}, ${before[0]?.rows["n"] ?? "0"} quotes`);
    say(seen[0] ?? "");
    for (const work of [inPlace, killed]) {
      seen.push(await onCopy(work, { way, ground, before }));
      say(seen.at(-1) ?? "");
    }
    // The embedded server's disk is filled with the server itself.
    if (ground.fillsTablespace) seen.push(await fillTablespace(way, { server, from: "filled", dataDir }));
  } finally {
    await drop();
  }
  const followed = await follow(way, ground);
  say(followed);
  return [...seen, followed].join("; ");
}

async function tierOf(url: string): Promise<string> {
  const pool = createPool(url, { max: 1 });
  const tier = describeTier(await readTier(pool));
  await pool.end();
  return tier;
}

type Work = (way: Way, dataDir: string, url: string) => Promise<string>;

/** After the work every row and bar of a copy of the archive is as it was. */
async function onCopy(
  work: Work,
  { way, ground, before }: { way: Way; ground: Ground; before: Digest },
): Promise<string> {
  const { url, drop } = await copyDatabase(ground.server, { from: "filled", name: work.name.toLowerCase() });
  try {
    const seen = await work(way, ground.dataDir, url);
    await expectSame(url, before, work.name);
    return seen;
  } finally {
    await drop();
  }
}

async function inPlace(way: Way, dataDir: string, url: string): Promise<string> {
  const taken: string[] = [];
  for (const { bin, name } of way.steps) {
    const startMs = performance.now();
    await must(process.execPath, [bin, "migrate"], given(dataDir, url));
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
    taken.push(`${name} took ${seconds} s to version ${await versionOf(url)}`);
  }
  return taken.join(", ");
}

async function killed(way: Way, dataDir: string, url: string): Promise<string> {
  let kills = 0;
  for (const step of way.steps) kills += await killEach(step, dataDir, url);
  return `${kills} kills`;
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
