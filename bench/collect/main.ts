/**
 * npm run bench:collect -- [SLOTS]
 *
 * A real `collect` process with jobs of 5,000 symbols and 1,000 contracts, against a service on loopback and a database
 * of its own: the longest block of its event loop at a slot's start, and the most memory it ever held.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startFaultServer } from "../../test/faults/kit/server.ts";
import { openWorld, type World } from "../../test/faults/kit/world.ts";

/** Slots that are looked at (6 by default), and the time between two of them: a third of the minute that jobs ask for. */
const slots = Number(process.argv[2] ?? "6");
const SLOT_SECONDS = 20;

/** What the issue asks for. */
const MOST = { blockMs: 50, residentMb: 200 };

/** What belongs to a slot's start: so long after it, in ms. */
const START_MS = 1_500;

const SYMBOLS = 5_000;
const CONTRACTS = 1_000;

type Block = { atMs: number; wallMs: number; cpuMs: number };

function writeLoad(dir: string): void {
  mkdirSync(dir);
  const due = `schedule: "*/${SLOT_SECONDS} * * * * *"\nsession: always\n`;
  const letters = (place: number): string =>
    [676, 26, 1].map((step) => String.fromCharCode(65 + (Math.floor(place / step) % 26))).join("");
  const symbols = Array.from({ length: SYMBOLS }, (_, place) => `Q${letters(place)}`);
  writeFileSync(join(dir, "symbols.txt"), symbols.join("\n"));
  writeFileSync(join(dir, "eq.yaml"), `name: eq\n${due}symbolsFile: ./symbols.txt\n`);
  const contracts = Array.from(
    { length: CONTRACTS },
    (_, place) => `  - { underlying: AAPL, expiration: 2029-01-19, type: CALL, strike: ${100 + place} }`,
  );
  writeFileSync(join(dir, "opt.yaml"), `name: opt\n${due}options:\n${contracts.join("\n")}\n`);
}

/** The blocks of each slot's start, in the order of the slots. */
function startsOf(blocks: readonly Block[]): Block[][] {
  const starts = new Map<number, Block[]>();
  for (const block of blocks) {
    const slotMs = SLOT_SECONDS * 1_000;
    const slot = Math.floor((block.atMs + block.wallMs) / slotMs);
    if (block.atMs - slot * slotMs > START_MS) continue;
    starts.set(slot, [...(starts.get(slot) ?? []), block]);
  }
  return [...starts].sort(([a], [b]) => a - b).map(([, start]) => start);
}

async function watch(world: World, blocksFile: string): Promise<number> {
  const collector = world.collect();
  const beginMs = Date.now();
  await delay((slots + 1) * SLOT_SECONDS * 1_000 - (beginMs % (SLOT_SECONDS * 1_000)) + 5_000);
  const peakKb = Number(
    /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${collector.pid}/status`, "utf8"))?.[1] ?? NaN,
  );
  const code = await collector.end();
  const blocks = readFileSync(blocksFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Block);
  // Before its first slot the program starts, and polls the slot that lasts.
  const firstMs = Math.ceil(beginMs / (SLOT_SECONDS * 1_000)) * SLOT_SECONDS * 1_000;
  const starts = startsOf(blocks.filter(({ atMs }) => atMs >= firstMs - 1_000));
  const worst = starts.map((start) => start.reduce((a, b) => (b.wallMs > a.wallMs ? b : a)));
  const shown = worst.map(({ wallMs, cpuMs }) => `${wallMs.toFixed(0)} (${cpuMs.toFixed(0)})`).join(", ");
  const longest = Math.max(...worst.map(({ wallMs }) => wallMs));
  const sums = starts.map((start) => start.reduce((sum, { cpuMs }) => sum + cpuMs, 0).toFixed(0)).join(", ");
  console.log(
    `longest block at each slot's start, ms (of them on a processor): ${shown}; at most ${MOST.blockMs} are asked for`,
  );
  console.log(`all blocks of each slot's start together, ms on a processor: ${sums}`);
  console.log(
    `most memory: ${(peakKb / 1_024).toFixed(0)} MB resident; at most ${MOST.residentMb} are asked for`,
  );
  if (code !== 0) console.log(collector.output());
  return code === 0 && longest <= MOST.blockMs && peakKb / 1_024 <= MOST.residentMb ? 0 : 1;
}

const server = await startFaultServer();
try {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-collect-"));
  const blocksFile = join(dir, "blocks");
  const jobsDir = join(dir, "jobs");
  writeLoad(jobsDir);
  const settings = {
    ...{ QUOTES_LIMIT: "60", QUOTES_LIMIT_WINDOW_MS: "60000", QUOTEKEEPER_JOBS_DIR: jobsDir },
    ...{ LOOP_BLOCKS: blocksFile, NODE_OPTIONS: `--import ${new URL("watch.js", import.meta.url).href}` },
  };
  const world = await openWorld(server.url, { settings });
  process.exitCode = await watch(world, blocksFile).finally(world.close);
  rmSync(dir, { recursive: true });
} finally {
  await server.close();
}
