/**
 * npm run soak -- [MINUTES]
 *
 * One collector for some minutes (5 by default) against the project's own service at a hundred times its speed, its
 * database cut off and given back again and again. Every 30 s the database is compared with the journal. At the end
 * all of it is loaded, the ledger adds up, and neither memory nor open files have grown. It says where the memory lies. Exits 1 when not.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startProxy } from "../../test/faults/kit/proxy.ts";
import { MemoryWatch, placesSaid, watchedBy } from "../memory/held.ts";
import { startFaultServer } from "../../test/faults/kit/server.ts";
import { openWorld, type World } from "../../test/faults/kit/world.ts";
import { catchUp, conclude } from "../../test/faults/scenarios/verdict.ts";
import { SPEED, startFastService } from "./feed.ts";
import { floors, slopePerHour, type Sample } from "./trend.ts";

const minutes = Number(process.argv[2] ?? "5");
if (!(minutes > 0)) throw new Error(`expected minutes, got ${process.argv[2]}`);

const VERIFY_EVERY_MS = 30_000;
const SAMPLE_EVERY_MS = 1_000;

/** One cycle: the database is there, then away, in ms. */
const CYCLE = { thereMs: 20_000, awayMs: 5_000 };

/** Memory is looked at after this share of the time: until then caches and the heap settle. */
const WARM_UP_SHARE = 0.25;

/** Memory's floor is its lowest sample in stretches of this length. */
const FLOOR_SECONDS = 60;

/** Most growth of what collections leave of the heap; a leak of one answer's bytes per call would be a thousand times it. */
const MOST_HEAP_GROWTH_MB_PER_HOUR = 30;

/**
 * Resident memory is looked at in the long run alone: the allocator gives back to the system when it likes, and in a
 * quarter of an hour that comes to a hundred MB more or less.
 */
const MOST_RSS_GROWTH = { mbPerHour: 60, fromMinutes: 40 };
const MOST_DESCRIPTOR_GROWTH = 10;

/** The most resident memory in the median after warm-up: what the issue of the first release asks for of 5,000 symbols. */
const MOST_RESIDENT_MB = 200;

/** Below the collector's directory: what its heap was. */
const MEMORY_FILE = "memory";

/** About 90 calls a second, near the limit. */
const LOAD = { symbols: 200, options: 70, slowSymbols: 300 };

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function soak(world: World, proxy: Awaited<ReturnType<typeof startProxy>>): Promise<number> {
  const collector = world.collect(proxy.url);
  const memoryWatch = new MemoryWatch(collector.pid, join(world.dataDir, "..", MEMORY_FILE));
  const startedAt = performance.now();
  const untilMs = minutes * 60_000;
  const elapsedMs = (): number => performance.now() - startedAt;
  const memory: Sample[] = [];
  const heap: Sample[] = [];
  const descriptors: Sample[] = [];
  const sampling = setInterval(() => {
    const seconds = elapsedMs() / 1_000;
    const [rss, left, open] = [collector.rssMb(), collector.heapMb(), collector.descriptors()];
    if (rss !== null) memory.push({ seconds, value: rss });
    if (left !== null) heap.push({ seconds, value: left });
    if (open !== null) descriptors.push({ seconds, value: open });
  }, SAMPLE_EVERY_MS);
  const problems: string[] = [];
  let cuts = 0;
  const cutting = (async () => {
    while (elapsedMs() + CYCLE.thereMs + CYCLE.awayMs < untilMs) {
      await delay(CYCLE.thereMs);
      await proxy.cut();
      await delay(CYCLE.awayMs);
      await proxy.restore();
      cuts += 1;
    }
  })();
  while (elapsedMs() < untilMs && collector.isRunning()) {
    await delay(Math.min(VERIFY_EVERY_MS, Math.max(0, untilMs - elapsedMs())));
    const { journaled, loaded, violations } = await world.auditor.check();
    const rss = Math.round(memory.at(-1)?.value ?? 0);
    say(
      `${String(Math.round(elapsedMs() / 1_000)).padStart(5)} s: ${world.feed.answered()} answers, ${journaled} journaled, ` +
        `${loaded} loaded and as they came, ${rss} MB, ${descriptors.at(-1)?.value} descriptors, ${cuts} cuts, ` +
        `${violations.length} violations`,
    );
    if (violations.length > 0) break;
  }
  if (!collector.isRunning())
    problems.push(`the collector ended by itself: ${collector.output().slice(-1_000)}`);
  await cutting;
  clearInterval(sampling);
  memoryWatch.end();
  await catchUp(world).catch((error: Error) => problems.push(error.message));
  const settled = (samples: Sample[]): Sample[] => samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  const slope = slopePerHour(settled(memory));
  const floor = floors(settled(memory), FLOOR_SECONDS);
  const floorSlope = slopePerHour(floor);
  const heapFloor = floors(settled(heap), FLOOR_SECONDS);
  const heapSlope = slopePerHour(heapFloor);
  const open = settled(descriptors).map(({ value }) => value);
  const edge = Math.max(1, Math.floor(open.length / 10));
  const growth = mean(open.slice(-edge)) - mean(open.slice(0, edge));
  const verdict = await conclude(world, {
    scenario: "soak",
    did: `${minutes} minutes at ${SPEED} times the speed, the database cut off ${cuts} times`,
    ...{ collector, figures: {}, peakMb: Math.round(Math.max(0, ...memory.map(({ value }) => value))) },
  });
  // A short run is all warm-up: its slope says nothing.
  if (minutes >= 5 && heapSlope > MOST_HEAP_GROWTH_MB_PER_HOUR) problems.push("the heap grows");
  if (minutes >= MOST_RSS_GROWTH.fromMinutes && floorSlope > MOST_RSS_GROWTH.mbPerHour)
    problems.push("memory grows");
  const held = memoryWatch.held(untilMs * WARM_UP_SHARE);
  if (held.median > MOST_RESIDENT_MB) problems.push(`more than ${MOST_RESIDENT_MB} MB are resident`);
  if (growth > MOST_DESCRIPTOR_GROWTH) problems.push("open descriptors grow");
  problems.push(...verdict.violations);
  say(
    `${verdict.did}: ${Object.entries(verdict.figures)
      .map((pair) => pair.join(" "))
      .join(", ")}`,
  );
  say(
    `heap left by collections after warm-up: ${heapSlope.toFixed(1)} MB per hour ` +
      `(the least of each minute: ${heapFloor.map(({ value }) => Math.round(value)).join(" ")})`,
  );
  say(
    `memory after warm-up: ${slope.toFixed(1)} MB per hour by least squares over ${settled(memory).length} samples, ` +
      `${floorSlope.toFixed(1)} MB per hour over the lowest of each minute (${floor.map(({ value }) => Math.round(value)).join(" ")}); ` +
      `descriptors: ${growth.toFixed(1)} more at the end, at most ${Math.max(0, ...open)}`,
  );
  say(
    `resident after warm-up: ${held.median.toFixed(0)} MB in the median, ${held.most.toFixed(0)} at most; of them`,
  );
  placesSaid(held.places).forEach(say);
  for (const problem of problems) say(`- ${problem}`);
  say(problems.length === 0 ? "Everything holds." : `${problems.length} violations.`);
  return problems.length === 0 ? 0 : 1;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

const server = await startFaultServer();
try {
  const limit = { QUOTES_LIMIT: String(60 * SPEED), QUOTES_LIMIT_WINDOW_MS: "60000" };
  const settings = (dataDir: string): Record<string, string> => ({
    ...limit,
    ...watchedBy(join(dataDir, "..", MEMORY_FILE)),
  });
  const world = await openWorld(server.url, { load: LOAD, openFeed: startFastService, settings });
  try {
    const proxy = await startProxy(world.url);
    process.exitCode = await soak(world, proxy).finally(proxy.close);
  } finally {
    await world.close();
  }
} finally {
  await server.close();
}
