/**
 * Why the loader of `start` and `collect` gets nothing into the database, in a file of the data directory: other
 * processes see a database that answers, and only the loader knows that it does not take the answers.
 *
 * There is no file while loading works. One that a killed collector left behind counts while the journal holds what is
 * not loaded, and no longer.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type Clock, dateOf, type Instant, instantFromDate } from "../ground/clock.ts";
import type { QuotekeeperError } from "../ground/errors.ts";
import type { Lag } from "../journal/lag.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";

const stateSchema = z.strictObject({
  message: z.string(),
  /** When loading first failed, and when it was last tried. */
  since: z.string().transform(dateOf),
  triedAt: z.string().transform(dateOf),
});

type LoaderState = z.infer<typeof stateSchema>;

/** The collector's hold on the file. Nothing here throws: what cannot be written is left to the journal's own line. */
export type LoaderStateFile = {
  failed: (error: QuotekeeperError) => void;
  works: () => void;
  /** Resolves when the file is as it was last told. */
  settled: () => Promise<void>;
};

const FILE = "loader.json";

/** The same failure is written down this often, in ms; a stuck loader tries every half minute. */
const WRITE_EVERY_MS = 20_000;

/** The loader of a collector that runs has tried again within this time, in ms. */
const FRESH_MS = 2 * 60_000;

export function keepLoaderState(dataDir: string, clock: Clock): LoaderStateFile {
  const path = join(dataDir, FILE);
  let kept: { message: string; since: Instant; atMs: number } | null = null;
  let last: Promise<void> = Promise.resolve();
  // One after the other: what was told last is what stays.
  const next = (work: () => Promise<void>): void => void (last = last.then(work).catch(() => undefined));
  return {
    failed: ({ message }) => {
      const atMs = clock.monotonicMs();
      if (kept?.message === message && atMs - kept.atMs < WRITE_EVERY_MS) return;
      const triedAt = instantFromDate(clock.now());
      const since = kept?.since ?? triedAt;
      kept = { message, since, atMs };
      next(() => keepJson(path, { message, since, triedAt }));
    },
    works: () => {
      kept = null;
      next(() => rm(path, { force: true }));
    },
    settled: () => last,
  };
}

/**
 * The loader that is stuck at the moment, as far as this data directory knows; null when there is none.
 *
 * @param lag what the database has not taken of the journal; null when that is not known
 */
export async function readLoaderState(
  dataDir: string,
  now: Date,
  lag: Lag | null,
): Promise<LoaderState | null> {
  const state = await readJson(join(dataDir, FILE), stateSchema);
  if (state === null) return null;
  const fresh = Math.abs(now.getTime() - state.triedAt.getTime()) < FRESH_MS;
  return fresh || lag === null || lag.bytes > 0 ? state : null;
}
