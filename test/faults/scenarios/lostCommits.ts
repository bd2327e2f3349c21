/** The connection is cut between COMMIT and its answer: the collector cannot know what has become of it. */
import { setTimeout as delay } from "node:timers/promises";
import type { Proxy } from "../kit/proxy.ts";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";
import { catchUp, conclude, type Verdict, watchMemory } from "./verdict.ts";

/** Swallows the answers to COMMITs, `times` times, one to three in a row. */
export async function loseCommits(
  world: World,
  { proxy, times, random }: { proxy: Proxy; times: number; random: () => number },
): Promise<Verdict> {
  const { feed, auditor } = world;
  const collector = world.collect(proxy.url);
  const memory = watchMemory(() => collector);
  try {
    await until(() => feed.answered() > 0, "the first answer");
    for (let count = 0; count < times; count++) {
      const before = proxy.swallowed();
      const inARow = 1 + Math.floor(random() * 3);
      proxy.swallowCommits(inARow);
      await until(() => proxy.swallowed() === before + inARow, `COMMIT ${count + 1} being sent`);
      await catchUp(world);
      if ((await auditor.check()).violations.length > 0) break;
      await delay(random() * 300);
    }
  } catch (error) {
    await collector.kill();
    throw error;
  } finally {
    memory.stop();
  }
  return conclude(world, {
    scenario: "COMMIT without an answer",
    did: `${proxy.swallowed()} answers to COMMIT swallowed, and the connection closed`,
    ...{ collector, figures: { swallowed: proxy.swallowed() }, peakMb: memory.peakMb() },
  });
}
