/** What a scenario gives back, and the parts that several of them share. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "../../../src/archive/load/loader.ts";
import { systemClock } from "../../../src/ground/clock.ts";
import { auditLedger } from "../kit/ledgerAudit.ts";
import { recount } from "../kit/recount.ts";
import type { CollectorProcess } from "../kit/collector.ts";
import { until } from "../../support/until.ts";
import type { World } from "../kit/world.ts";

/** What was done, what was measured, and what did not hold. */
export type Verdict = {
  scenario: string;
  did: string;
  figures: Record<string, number>;
  violations: string[];
};

/** Calls under way at once, at most: so many answers may be lost with a killed collector. */
export const CALLS_UNDER_WAY = 6;

/** Most resident memory of a collector, in MB, whatever is away and for how long. */
export const MOST_RSS_MB = 600;

/** Highest resident memory of a collector, looked at as long as it runs. */
export function watchMemory(collector: () => CollectorProcess | null): {
  peakMb: () => number;
  stop: () => void;
} {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, collector()?.rssMb() ?? 0)), 200);
  return { peakMb: () => Math.round(peak), stop: () => clearInterval(timer) };
}

/** Waits until the running collector has accounted for the slots that those before it left open. */
export async function accountedFor({ dataDir }: World): Promise<void> {
  await until(() => !existsSync(join(dataDir, "unaccounted.json")), "the account of the slots before");
}

/** Waits until the journal holds an answer, and the database all that it holds then. @returns how long that took, in ms */
export async function catchUp({ auditor }: World): Promise<number> {
  const startedAt = performance.now();
  let journaled = 0;
  // What the service has answered may not be journaled yet, and nothing is soon loaded.
  await until(
    async () => (journaled = (await auditor.check()).journaled) > 0,
    "the first answer in the journal",
  );
  await until(async () => (await auditor.check()).loaded >= journaled, "the loader catching up");
  return Math.round(performance.now() - startedAt);
}

/** Ends the last collector, and looks at everything once more: all loaded, the ledger adds up, memory was bounded. */
export async function conclude(
  world: World,
  {
    scenario,
    did,
    collector,
    figures,
    peakMb,
    clockMoved = false,
    settled,
  }: {
    scenario: string;
    did: string;
    collector: CollectorProcess;
    figures: Record<string, number>;
    peakMb: number;
    /** The wall clock was set meanwhile: slots come twice or not at all, and answers bear later times than it. */
    clockMoved?: boolean;
    /** Awaited when the collector has ended, before anything is compared. */
    settled?: () => Promise<void>;
  },
): Promise<Verdict> {
  const violations: string[] = [];
  const endedFromMs = systemClock.now().getTime();
  const exitCode = await collector.end();
  const ended = { fromMs: endedFromMs, toMs: systemClock.now().getTime() };
  await settled?.();
  const atEnd = await world.auditor.check();
  const left = atEnd.journaled - atEnd.loaded;
  // Exit code 0 says that the database has taken everything. On a slow machine the last load may fail, or still be under way
  // when its time is over, after all answers were taken: then it says that it does not know, or what failed.
  const lastWords = collector.output().slice(-600);
  const saysWhy = /It is not known whether|DATABASE_[A-Z]+/.test(lastWords);
  const isRight = left > 0 ? exitCode === 1 : exitCode === 0 || (exitCode === 1 && saysWhy);
  if (!isRight)
    violations.push(`the last collector ended with ${exitCode}, ${left} answers not loaded: ${lastWords}`);
  // Also where no answer is left: notes of the last slots may be, which the ledger is made of.
  await loadAll({ pool: world.pool, journalDir: world.journalDir, clock: systemClock });
  const { journaled, quotes, ...rest } = await world.auditor.check({ complete: true });
  violations.push(...rest.violations);
  const ledger = await auditLedger(world.pool, clockMoved ? [] : world.jobs);
  const { journalDir, jobs, feed } = world;
  const arrivals = feed.arrivals?.();
  const counted = arrivals
    ? await recount(world.pool, { journalDirs: [journalDir], jobs, arrivals, ended, clockMoved })
    : null;
  return {
    scenario,
    did,
    figures: {
      ...{ answers: journaled, quotes, slots: ledger.slots, due: ledger.due, missed: ledger.missed },
      ...(counted && {
        ...{ recounted: counted.slots, storedByRecount: counted.stored, longestGap: counted.longestGap },
      }),
      ...figures,
      peakMb,
    },
    violations: [
      ...violations,
      ...ledger.violations,
      ...(counted?.violations ?? []),
      ...(peakMb > MOST_RSS_MB ? [`${peakMb} MB of memory, more than ${MOST_RSS_MB}`] : []),
    ],
  };
}
