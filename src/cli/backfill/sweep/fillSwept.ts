/** Marks the slots of the ledger that a sweep's quotes fill. */
import type pg from "pg";
import { fillSlots } from "../../../backfill/gaps/fillSlots.ts";
import type { SweepRun } from "../../../backfill/sweep/runFile.ts";
import type { Config } from "../../../config/loadEnvironment.ts";
import { dateOf, type Instant, instantFromDate } from "../../../clock.ts";
import { delayedJobs } from "../delayedJobs.ts";

/** A slot lasts so long at most, in ms: one that began before the sweep may take its quotes. */
const LONGEST_SLOT_MS = 86_400_000;

/** @returns how many misses are filled now */
export async function fillSwept(
  config: Config,
  pool: pg.Pool,
  { run, now }: { run: SweepRun; now: Instant },
): Promise<number> {
  const from = instantFromDate(new Date(dateOf(run.begunAt).getTime() - LONGEST_SLOT_MS));
  return fillSlots(pool, { from, to: null, by: "sweep", now, delayedJobs: await delayedJobs(config) });
}
