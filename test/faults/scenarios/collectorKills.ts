/** kill -9 of the collector at random instants. */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";
import { accountedFor, CALLS_UNDER_WAY, catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** So many of the kills come while the collector starts; the others while it collects. */
const WHILE_STARTING = 0.15;

/** How long a collector lives at most: from its start, and from its first answer, in ms. */
const STARTS_WITHIN_MS = 1_500;
const LIVES_MS = 1_200;

/** @param random gives numbers from 0 to 1 */
export async function killCollectors(
  world: World,
  {
    kills,
    random,
    demand = "full",
    accounts = 1,
    onKill,
  }: {
    kills: number;
    random: () => number;
    demand?: string;
    /** How many accounts it calls. */
    accounts?: number;
    /** Awaited after each, while nothing runs. */
    onKill?: (kill: number) => void | Promise<void>;
  },
): Promise<Verdict> {
  const { feed, auditor } = world;
  let collector = world.collect();
  const memory = watchMemory(() => collector);
  const untilAsked = (before: number, what: string): Promise<true> =>
    until(() => {
      if (!collector.isRunning())
        throw new Error(`the collector ended before ${what}: ${collector.output()}`);
      return feed.answered() > before;
    }, what);
  try {
    for (let kill = 1; kill <= kills; kill++) {
      if (random() < WHILE_STARTING) await delay(random() * STARTS_WITHIN_MS);
      else {
        const before = feed.answered();
        await untilAsked(before, `the first answer after kill ${kill - 1}`);
        await delay(random() * LIVES_MS);
      }
      await collector.kill();
      const { violations } = await auditor.check();
      if (violations.length > 0) break;
      await onKill?.(kill);
      collector = world.collect();
    }
    const answered = feed.answered();
    await untilAsked(answered, "the last collector's first answer");
    await catchUp(world);
    await accountedFor(world);
  } catch (error) {
    await collector.kill();
    throw error;
  } finally {
    memory.stop();
  }
  const verdict = await conclude(world, {
    scenario: "kill -9 of the collector",
    did: `${kills} kills at random instants under ${demand} demand`,
    ...{ collector, figures: {}, peakMb: memory.peakMb() },
  });
  // What the service answered and nobody journaled was under way when a collector was killed.
  const lost = feed.answered() - auditor.numbers.size;
  const most = (kills + 1) * CALLS_UNDER_WAY * accounts;
  return {
    ...verdict,
    figures: { ...verdict.figures, lostUnderWay: lost },
    violations: [
      ...verdict.violations,
      ...(lost > most ? [`${lost} answers are in no journal, more than were under way`] : []),
    ],
  };
}
