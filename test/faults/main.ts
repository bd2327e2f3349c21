/**
 * npm run test:faults -- [--kills N] [--server-kills N] [--embedded-kills N] [--moves N] [--pairs N] [--away MS,MS]
 *                        [--from-start MS] [--commits N] [--node-kills N] [--faults N] [--fleet-away MS] [--seed N] [--only WORD]
 *
 * Real collectors, a real PostgreSQL, a service that answers as fast as it is asked; one fault after the other. After
 * each, the database is compared with the journal and the ledger is added up. Prints what was done and exits 1 when
 * anything does not hold. The instants are random: the seed makes a run similar, not the same.
 */
import { parseArgs } from "node:util";
import { createPool } from "../../src/archive/connect/connect.ts";
import { migrate } from "../../src/archive/schema/migrations.ts";
import { instantFromDate, systemClock } from "../../src/ground/clock.ts";
import { seeded } from "../../bench/governor/random.ts";
import { DEMANDS, FLEET_LOAD, FLEET_RULES, MOVABLE, SATURATED_FLEET, SPARSE } from "./kit/demands.ts";
import { startFeed } from "./kit/feed.ts";
import { killPostmaster, startFaultServer } from "./kit/server.ts";
import { type SharedService, startSharedService } from "./kit/sharedService.ts";
import { startProxy } from "./kit/proxy.ts";
import { openEmbeddedWorld, openWorld, openWorldOn, type World } from "./kit/world.ts";
import { openAlpacaWorld, openEtradeWorld, openTradierWorld } from "./kit/livingWorld.ts";
import { openCitusCluster } from "./kit/citusCluster.ts";
import { killNodes } from "./scenarios/nodeKills.ts";
import { takeDatabaseAway } from "./scenarios/away.ts";
import { fillDisk } from "./scenarios/fullDisk.ts";
import { shareFleet } from "./scenarios/fleet.ts";
import { drawFaults } from "./scenarios/fleetFaults.ts";
import { upgradeFleet } from "./scenarios/fleetAway.ts";
import { killCollectors } from "./scenarios/collectorKills.ts";
import { loseCommits } from "./scenarios/lostCommits.ts";
import { moveClocks } from "./scenarios/movedClocks.ts";
import { pairCollectors } from "./scenarios/pairs.ts";
import { poisonOne } from "./scenarios/poison.ts";
import { NAMES, shareAccounts, sharedKeys, sharedSecrets, writeShared } from "./scenarios/sharedAccounts.ts";
import { killServers } from "./scenarios/serverKills.ts";
import type { Verdict } from "./scenarios/verdict.ts";
import { killAtAlpaca, killAtEtrade, killAtTradier } from "./scenarios/wholeChains.ts";

const { values: options } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    "server-kills": { type: "string", default: "20" },
    "embedded-kills": { type: "string", default: "5" },
    moves: { type: "string", default: "20" },
    pairs: { type: "string", default: "10" },
    away: { type: "string", default: "10000,60000" },
    "from-start": { type: "string", default: "10000" },
    commits: { type: "string", default: "20" },
    "node-kills": { type: "string", default: "5" },
    faults: { type: "string", default: "200" },
    "fleet-away": { type: "string", default: "60000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
});
const random = seeded(Number(options.seed));
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const progress = (done: number): void => {
  if (done % 10 === 0) say(`  ${done}`);
};

type Scenario = { name: string; run: () => Promise<Verdict> };
const server = await startFaultServer();

async function within<W extends World>(
  open: Promise<W>,
  run: (world: W) => Promise<Verdict>,
): Promise<Verdict> {
  const world = await open;
  return run(world).finally(() => world.close());
}

async function throughProxy(run: (world: World) => Promise<Verdict>, migrated = true): Promise<Verdict> {
  return within(openWorld(server.url, { migrated }), run);
}

const FLEET_LIMITS = { limit: 60, windowMs: 6_000 };

/** A fleet's world, with a service that knows whose each call is. */
async function throughFleet(
  load: typeof FLEET_LOAD,
  run: (world: World, course: { service: SharedService } & typeof FLEET_LIMITS) => Promise<Verdict>,
): Promise<Verdict> {
  const service = await startSharedService(sharedKeys(), { ...FLEET_LIMITS, rules: FLEET_RULES });
  const world = { load, settings: sharedSecrets(), openFeed: async () => service };
  return within(openWorld(server.url, world), (opened) => run(opened, { service, ...FLEET_LIMITS }));
}

const scenarios: Scenario[] = [
  ...(["first", "middle", "last"] as const).map((where) => ({
    name: `poison ${where}`,
    run: () => within(openWorld(server.url), ({ pool }) => poisonOne(pool, { rows: 3_000, where })),
  })),
  {
    name: "commits",
    run: () =>
      throughProxy(async (world) => {
        const proxy = await startProxy(world.url);
        const times = Number(options.commits);
        return loseCommits(world, { proxy, times, random }).finally(proxy.close);
      }),
  },
  {
    name: "kills",
    run: () =>
      within(openWorld(server.url), (world) =>
        killCollectors(world, { kills: Number(options.kills), random, onKill: progress }),
      ),
  },
  ...DEMANDS.map(({ demand, ...world }) => ({
    name: `${demand} kills`,
    run: () =>
      within(openWorld(server.url, { ...world, openFeed: () => startFeed({ latencyMs: 150 }) }), (opened) =>
        killCollectors(opened, { kills: Number(options.kills), demand, random, onKill: progress }),
      ),
  })),
  {
    name: "tradier kills",
    run: async () => {
      const { world, fake } = await openTradierWorld((given) => openWorld(server.url, given));
      const kills = Number(options.kills);
      return within(Promise.resolve(world), () =>
        killAtTradier(world, fake, { kills, random, onKill: progress }),
      );
    },
  },
  {
    name: "alpaca kills",
    run: async () => {
      const { world, fake } = await openAlpacaWorld((given) => openWorld(server.url, given));
      const kills = Number(options.kills);
      return within(Promise.resolve(world), () =>
        killAtAlpaca(world, fake, { kills, random, onKill: progress }),
      );
    },
  },
  {
    name: "etrade kills",
    run: async () => {
      const { world, fake } = await openEtradeWorld((given) => openWorld(server.url, given));
      const killing = { kills: Number(options.kills), random, onKill: progress };
      const spellAfter = (kill: number): boolean => kill % 10 === 1;
      return within(Promise.resolve(world), () => killAtEtrade(world, fake, { ...killing, spellAfter }));
    },
  },
  {
    name: "clock",
    run: () =>
      within(openWorld(server.url, MOVABLE), (world) =>
        moveClocks(world, { moves: Number(options.moves), random, onMove: progress }),
      ),
  },
  {
    name: "pairs",
    run: () => within(openWorld(server.url, SPARSE), (world) => pairCollectors(world, Number(options.pairs))),
  },
  {
    name: "accounts",
    run: async () => {
      const limits = { limit: 60, windowMs: 6_000 };
      const service = await startSharedService(sharedKeys(), limits);
      const load = { symbols: 5_000, symbolsEverySeconds: 30, options: 400, optionsEverySeconds: 30 };
      const options = { load: { ...load, slowSymbols: 0 }, settings: sharedSecrets() };
      return within(openWorld(server.url, { ...options, openFeed: async () => service }), (world) =>
        shareAccounts(world, { service, ...limits, slots: 3, longestGap: 1 }),
      );
    },
  },
  {
    name: "accounts killed",
    run: () => {
      const [{ load }] = DEMANDS;
      const openFeed = () => startFeed({ latencyMs: 150 });
      return within(openWorld(server.url, { load, openFeed, settings: sharedSecrets() }), (world) => {
        writeShared(world, { limit: 15, windowMs: 10_000 }, NAMES);
        const kills = Number(options.kills);
        return killCollectors(world, {
          ...{ kills, random, onKill: progress, accounts: NAMES.length },
          demand: "several accounts'",
        });
      });
    },
  },
  ...["fleet faults", "fleet saturated", "fleet clocks"].map((name) => ({
    name,
    run: () => {
      const isSaturated = name === "fleet saturated";
      const drawn = drawFaults(Number(options.faults) / (name === "fleet faults" ? 1 : 10), random);
      return throughFleet(isSaturated ? SATURATED_FLEET : FLEET_LOAD, (world, course) =>
        shareFleet(world, {
          ...{ ...course, random, isTimed: !isSaturated, onFault: progress },
          faults: name === "fleet clocks" ? drawn.flatMap((other) => ["clock", other] as const) : drawn,
        }),
      );
    },
  })),
  ...[300, 1_000].map((roundTripMs) => ({
    name: `fleet far, ${roundTripMs} ms`,
    run: () =>
      throughFleet(FLEET_LOAD, (world, course) =>
        shareFleet(world, {
          ...{ ...course, random, isTimed: false, roundTripMs },
          faults: [
            ...(["kill", "pause 20 in a round", "restart", "kill, and away", "pause 20"] as const),
            "each restarted",
          ],
        }),
      ),
  })),
  ...(["use", "gaps"] as const).map((promised) => ({
    name: `fleet upgraded, ${promised}`,
    run: () =>
      throughFleet(promised === "use" ? SATURATED_FLEET : FLEET_LOAD, (world, course) =>
        upgradeFleet(world, { ...course, awayMs: Number(options["fleet-away"]), promised }),
      ),
  })),
  {
    name: "server",
    run: () =>
      within(openWorld(server.url), (world) =>
        killServers(world, {
          kills: Number(options["server-kills"]),
          ...{ random, kill: server.kill, revive: server.revive, onKill: progress },
        }),
      ),
  },
  {
    name: "embedded",
    run: () =>
      within(openEmbeddedWorld(), (world) =>
        killServers(world, {
          kills: Number(options["embedded-kills"]),
          ...{ random, kill: () => killPostmaster(world.clusterDir), databaseUrl: null },
          ...{ settled: world.hold, onKill: progress },
        }),
      ),
  },
  {
    name: "away",
    run: () =>
      throughProxy(async (world) => {
        const proxy = await startProxy(world.url, { up: false });
        const awayMs = options.away.split(",").map(Number);
        const fromStartMs = Number(options["from-start"]);
        return takeDatabaseAway(world, { proxy, fromStartMs, awayMs }).finally(proxy.close);
      }, false),
  },
];

const citusUrl = process.env["TEST_CITUS_URL"];
scenarios.push({
  name: "citus",
  run: async () => {
    const kills = Number(options["node-kills"]);
    if (!citusUrl)
      return {
        scenario: "kill -9 of Citus nodes",
        did: "left out: TEST_CITUS_URL names no coordinator",
        figures: {},
        violations: [],
      };
    const cluster = await openCitusCluster(citusUrl);
    const pool = createPool(cluster.databaseUrl, { max: 1 });
    await migrate(pool, instantFromDate(systemClock.now()), { toCitus: true }).finally(() => pool.end());
    return within(openWorldOn(cluster.databaseUrl), (world) =>
      killNodes(world, cluster, { kills, random, onKill: progress }),
    ).finally(cluster.close);
  },
});

const NOT_HERE = {
  scenario: "the journal's disk full",
  did: "left out: it takes root to mount a small disk",
};
scenarios.push({
  name: "disk",
  run: () =>
    within(
      openWorld(server.url),
      async (world) =>
        (await fillDisk(world, { fullMs: 5_000 })) ?? { ...NOT_HERE, figures: {}, violations: [] },
    ),
});

const wanted = scenarios.filter(({ name }) => name.includes(options.only));
let failed = 0;
for (const { name, run } of wanted) {
  const startedAt = performance.now();
  let verdict: Verdict;
  try {
    verdict = await run();
  } catch (error) {
    verdict = { scenario: name, did: "broke off", figures: {}, violations: [(error as Error).message] };
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const figures = Object.entries(verdict.figures).map(([figure, value]) => `${figure} ${value}`);
  say(
    `${verdict.violations.length === 0 ? "ok  " : "FAIL"} ${verdict.scenario}: ${verdict.did} (${seconds} s)`,
  );
  say(`     ${figures.join(", ")}`);
  for (const violation of verdict.violations) say(`     - ${violation}`);
  if (verdict.violations.length > 0) failed += 1;
}
await server.close();
const names = scenarios.map(({ name }) => name).join(", ");
if (wanted.length === 0) say(`No scenario is called ${options.only}; there are ${names}.`);
else say(failed === 0 ? "Everything holds." : `${failed} scenarios found a violation.`);
process.exitCode = wanted.length > 0 && failed === 0 ? 0 : 1;
