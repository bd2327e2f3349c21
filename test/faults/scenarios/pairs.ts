/** Two collectors at once, on one data directory and on one database; the one that holds is killed again and again. */
import type { CollectorProcess } from "../kit/collector.ts";
import type { World } from "../kit/world.ts";
import { until } from "../../support/until.ts";
import { type Verdict, watchMemory } from "./verdict.ts";

/** What a collector that is refused says. */
const REFUSED = /COLLECTOR_RUNNING: .* is collected by process (\d+) on \S+ since /;

/** Starts them, `pairs` times. */
export async function pairCollectors(world: World, pairs: number): Promise<Verdict> {
  const { feed } = world;
  const violations: string[] = [];
  let holder: CollectorProcess | null = null;
  const memory = watchMemory(() => holder);
  try {
    for (let pair = 1; pair <= pairs; pair++) {
      const [first, second] = [world.collect(), pair % 2 === 0 ? world.collectElsewhere() : world.collect()];
      await until(() => !first.isRunning() || !second.isRunning(), `one of pair ${pair} being refused`);
      const [winner, loser]: CollectorProcess[] = first.isRunning() ? [first, second] : [second, first];
      if (!winner || !loser) break;
      holder = winner;
      const before = feed.answered();
      await until(() => feed.answered() > before, `an answer to the other of pair ${pair}`);
      const named = REFUSED.exec(loser.output())?.[1];
      if ((await loser.end()) !== 2)
        violations.push(`pair ${pair}: the one that was refused did not end with 2`);
      if (named !== String(winner.pid))
        violations.push(
          `pair ${pair}: ${named ?? "nobody"} was named, and ${winner.pid} runs: ${loser.output()}`,
        );
      if (!winner.isRunning()) violations.push(`pair ${pair}: both ended: ${winner.output()}`);
      if (pair < pairs) await winner.kill();
    }
  } finally {
    memory.stop();
  }
  const exitCode = await holder?.end();
  if (exitCode !== 0) violations.push(`the last holder ended with ${exitCode}`);
  return {
    scenario: "two collectors at once",
    did: `${pairs} pairs, every other one on two data directories, the holder killed each time`,
    figures: { answers: feed.answered(), peakMb: memory.peakMb() },
    violations,
  };
}
