/** The short form of `npm run test:faults`: real collectors, a real PostgreSQL, a few faults of each kind. */
import { afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { seeded } from "../../bench/governor/random.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { DEMANDS } from "./kit/demands.ts";
import { startFeed } from "./kit/feed.ts";
import type { Load } from "./kit/jobs.ts";
import { compileProgram } from "../support/compileProgram.ts";
import { startSharedService } from "./kit/sharedService.ts";
import { startProxy, type Proxy } from "./kit/proxy.ts";
import { killPostmaster } from "./kit/server.ts";
import { openEmbeddedWorld, openWorldOn, type World, type WorldOptions } from "./kit/world.ts";
import { takeDatabaseAway } from "./scenarios/away.ts";
import { killCollectors } from "./scenarios/collectorKills.ts";
import { loseCommits } from "./scenarios/lostCommits.ts";
import { NAMES, shareAccounts, sharedKeys, sharedSecrets } from "./scenarios/sharedAccounts.ts";
import { killServers } from "./scenarios/serverKills.ts";

// Collectors are killed and recounted for many slots.
jest.setTimeout(300_000);

/** Little: what is shown does not depend on how much it is. */
const LOAD: Load = { symbols: 50, options: 10, slowSymbols: 0 };

let bin = "";
beforeAll(() => {
  bin = compileProgram(tempDir());
});

let world: World | null = null;
let proxy: Proxy | null = null;
afterEach(async () => {
  await proxy?.close();
  await world?.close();
  [world, proxy] = [null, null];
});

async function open({ migrated = true, ...options }: WorldOptions = {}): Promise<World> {
  const { url } = await freshDatabase({ migrated });
  return (world = await openWorldOn(url, { load: LOAD, bin, ...options, migrated: false }));
}

describe("every journaled answer has its rows once, and the ledger adds up,", () => {
  test("rows and ledger are right when the collector is killed at random instants", async () => {
    const verdict = await killCollectors(await open(), { kills: 2, random: seeded(3) });

    expect(verdict).toMatchObject({ violations: [] });
  });

  test.each(DEMANDS)(
    "rows and ledger are right when the collector is killed within slots of $demand demand: each slot says what a recount of the journal says",
    async ({ demand, load, settings }) => {
      const opened = await open({ load, settings, openFeed: () => startFeed({ latencyMs: 150 }) });

      const verdict = await killCollectors(opened, { kills: 3, random: seeded(5), demand });

      expect(verdict).toMatchObject({ violations: [] });
      expect(verdict.figures["recounted"]).toBeGreaterThan(0);
    },
  );

  test("rows and ledger are right when the answer to COMMIT never arrives", async () => {
    const opened = await open();
    proxy = await startProxy(opened.url);

    const verdict = await loseCommits(opened, { proxy, times: 2, random: seeded(2) });

    expect(verdict).toMatchObject({ violations: [] });
    expect(verdict.figures["swallowed"]).toBeGreaterThanOrEqual(2);
  });

  test("rows and ledger are right when the database is away from the start, without its schema, and once more later", async () => {
    const opened = await open({ migrated: false });
    proxy = await startProxy(opened.url, { up: false });

    const verdict = await takeDatabaseAway(opened, { proxy, fromStartMs: 500, awayMs: [700] });

    expect(verdict).toMatchObject({ violations: [] });
  });

  test("rows and ledger are right when of four accounts one is drained and one refused: each instrument is one account's at a slot", async () => {
    const limits = { limit: 60, windowMs: 1_000 };
    const service = await startSharedService(sharedKeys(), limits);
    const opened = await open({ settings: sharedSecrets(), openFeed: async () => service });

    const course = { service, ...limits, slots: 2, longestGap: null };
    const verdict = await shareAccounts(opened, course);

    expect(verdict).toMatchObject({ violations: [] });
    expect(verdict.figures["recounted"]).toBeGreaterThan(0);
    expect(NAMES.filter((name) => verdict.figures[name] === 0)).toEqual([]);
  });

  test("rows and ledger are right when the embedded PostgreSQL is killed and started again", async () => {
    const opened = await openEmbeddedWorld({ load: LOAD, bin });
    world = opened;

    const verdict = await killServers(opened, {
      ...{ kills: 1, random: seeded(1), databaseUrl: null },
      ...{ kill: () => killPostmaster(opened.clusterDir), settled: opened.hold },
    });

    expect(verdict).toMatchObject({ violations: [] });
  });
});
