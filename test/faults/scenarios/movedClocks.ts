/** The wall clock of a collector is set back and forth while it collects, and while it is away. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";
import { accountedFor, catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** What the clock is off by, in ms; the moves lie between two of them. */
const OFFSETS_MS = [0, 60_000, -60_000, 90_000, -90_000, 3_600_000, -3_600_000];

/** How many of the moves come while nothing runs: every so many-th. */
const AWAY_EVERY = 5;

/** Where the world's collectors find what their clock is off by. */
export function clockFile(dataDir: string): string {
  return `${dataDir}.clock`;
}

/** Settings of collectors whose clock can be moved. */
export function movableClock(dataDir: string): Record<string, string> {
  return {
    MOVED_CLOCK: clockFile(dataDir),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "..", "kit", "movedClock.js")}`,
  };
}

async function countSteps(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    "select count(*)::int as n from clock_steps where kind in ('set_back', 'set_forward')",
  );
  return rows[0]?.n ?? 0;
}

/** @param random gives numbers from 0 to 1 */
export async function moveClocks(
  world: World,
  { moves, random, onMove }: { moves: number; random: () => number; onMove?: (move: number) => void },
): Promise<Verdict> {
  const { feed, dataDir, pool } = world;
  const offs = Array.from({ length: moves }, () => OFFSETS_MS[Math.floor(random() * OFFSETS_MS.length)] ?? 0);
  let collector = world.collect();
  const memory = watchMemory(() => collector);
  const answersOn = async (what: string): Promise<void> => {
    const before = feed.answered();
    await until(() => feed.answered() > before, what);
  };
  try {
    await answersOn("the first answer");
    let noted = 0;
    for (const [move, offMs] of offs.entries()) {
      const away = move % AWAY_EVERY === AWAY_EVERY - 1;
      if (away) await collector.kill();
      writeFileSync(clockFile(dataDir), String(offMs));
      if (away) collector = world.collect();
      await answersOn(`an answer after the clock was off by ${offMs} ms`);
      noted += offMs === (offs[move - 1] ?? 0) ? 0 : 1;
      await until(async () => (await countSteps(pool)) >= noted, `the step to ${offMs} ms being noted`);
      onMove?.(move + 1);
    }
    await catchUp(world);
    await accountedFor(world);
  } catch (error) {
    await collector.kill();
    throw error;
  } finally {
    memory.stop();
  }
  const { rows } = await pool.query<{ kind: string; n: number }>(
    "select kind, count(*)::int as n from clock_steps group by kind order by kind",
  );
  return conclude(world, {
    scenario: "a clock that is moved",
    did: `${moves} moves by up to two hours, every ${AWAY_EVERY}th while nothing ran`,
    ...{ collector, peakMb: memory.peakMb(), clockMoved: true },
    figures: Object.fromEntries(rows.map(({ kind, n }) => [`noted_${kind}`, n])),
  });
}
