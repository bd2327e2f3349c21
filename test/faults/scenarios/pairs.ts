/**
 * Two collectors at once, on one data directory and on one database; the one that calls is killed again and again. On one
 * directory the second is refused. On two it stands by, and goes on when the first is gone.
 */
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
  const anotherAnswer = async (what: string): Promise<void> => {
    const before = feed.answered();
    await until(() => feed.answered() > before, what);
  };
  try {
    for (let pair = 1; pair <= pairs; pair++) {
      const both = [world.collect(), pair % 2 === 0 ? world.collectElsewhere() : world.collect()] as const;
      if (pair % 2 === 0) {
        const caller = await callerOf(world, both);
        const other = both.find((one) => one !== caller) ?? caller;
        await anotherAnswer(`an answer to one of pair ${pair}`);
        await caller.kill();
        await until(async () => (await callerPid(world)) === other.pid, `the take-over of pair ${pair}`);
        await anotherAnswer(`an answer to the other of pair ${pair}`);
        if (!other.isRunning()) violations.push(`pair ${pair}: both ended: ${other.output()}`);
        holder = other;
      } else {
        const [first, second] = both;
        await until(() => !first.isRunning() || !second.isRunning(), `one of pair ${pair} being refused`);
        const [winner, loser] = first.isRunning() ? [first, second] : [second, first];
        holder = winner;
        await anotherAnswer(`an answer to the other of pair ${pair}`);
        const named = REFUSED.exec(loser.output())?.[1];
        if ((await loser.end()) !== 2)
          violations.push(`pair ${pair}: the one that was refused did not end with 2`);
        if (named !== String(winner.pid))
          violations.push(
            `pair ${pair}: ${named ?? "nobody"} was named, and ${winner.pid} runs: ${loser.output()}`,
          );
        if (!winner.isRunning()) violations.push(`pair ${pair}: both ended: ${winner.output()}`);
      }
      if (pair < pairs) await holder.kill();
    }
  } finally {
    memory.stop();
  }
  const exitCode = await holder?.end();
  if (exitCode !== 0) violations.push(`the last holder ended with ${exitCode}`);
  return {
    scenario: "two collectors at once",
    did: `${pairs} pairs, every other one on two data directories, the one that calls killed each time`,
    figures: { answers: feed.answered(), peakMb: memory.peakMb() },
    violations,
  };
}

/** The process that has the account's lease; null: nobody that runs has said so yet. */
async function callerPid({ pool }: World): Promise<number | null> {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from leases l join collectors c on c.id = l.holder and c.run = l.run where not released",
  );
  return rows[0]?.pid ?? null;
}

async function callerOf(world: World, both: readonly CollectorProcess[]): Promise<CollectorProcess> {
  return until(async () => {
    const pid = await callerPid(world);
    return both.find((one) => one.pid === pid) ?? null;
  }, "the lease of one of them");
}
