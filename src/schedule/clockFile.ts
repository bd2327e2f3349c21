/**
 * What the machine's clocks said last, in the data directory. The next run finds out by it whether the wall clock was moved while
 * nothing ran: the journal's newest record may have been written under a clock that was wrong itself. And other processes see by
 * it that the collector lives, whatever the database does: one that is killed or frozen stops writing.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../ground/clock.ts";
import { type ClocksLeft, stepWhileAway } from "./clockSteps.ts";
import type { ClockStep } from "../journal/ledger.ts";
import { keepJson, readJson } from "../ground/plainFiles.ts";

export type ClockFile = {
  /** How the wall clock was moved since the last run; null when it was not, as far as can be known. */
  away: ClockStep | null;
  /** Writes down what the clocks say. Never throws: what cannot be written is older, and tells less. */
  keep: () => Promise<void>;
  /** The same, and that the collector has ended in order. */
  end: () => Promise<void>;
};

export type SeenHere = { agoMs: number; ended: boolean };

/** Stands in each data directory in which a collector has run. */
export const CLOCK_FILE = "clock.json";

const clocksLeft = z.object({
  wallMs: z.number(),
  uptimeMs: z.number(),
  bootId: z.string().nullable().catch(null),
  ended: z.boolean().catch(false),
});

/** How often the clocks are to be written down while nothing happens to them, in ms. */
export const KEEP_CLOCK_EVERY_MS = 5_000;

type Reading = Pick<Clock, "now" | "uptimeMs">;

function readNow({ now, uptimeMs }: Reading, bootId: string | null): ClocksLeft {
  return { wallMs: now().getTime(), uptimeMs: uptimeMs(), bootId };
}

/**
 * Looks at what the last run left.
 *
 * @param bootId the name of this start of the machine; null where it has none: then only a clock that went back is noticed
 */
export async function openClockFile(
  dataDir: string,
  clock: Reading,
  bootId: string | null,
): Promise<ClockFile> {
  const path = join(dataDir, CLOCK_FILE);
  const left = await readJson(path, clocksLeft);
  const away = left && stepWhileAway(left, readNow(clock, bootId));
  let writing: Promise<void> = Promise.resolve();
  const write = (ended: boolean): Promise<void> =>
    (writing = writing.then(() => keepJson(path, { ...readNow(clock, bootId), ended })));
  return { away, keep: () => write(false), end: () => write(true) };
}

/**
 * When the collector of a data directory was last seen alive; null: none has run there. In the same boot the uptime clock tells,
 * which nobody sets. Otherwise the wall clock has to: what it wrote in the future was written before it was set back.
 */
export async function readSeenHere(
  dataDir: string,
  clock: Reading,
  bootId: string | null,
): Promise<SeenHere | null> {
  const left = await readJson(join(dataDir, CLOCK_FILE), clocksLeft);
  if (left === null) return null;
  const now = readNow(clock, bootId);
  const isThisBoot = bootId !== null && bootId === left.bootId && now.uptimeMs >= left.uptimeMs;
  const wallAgoMs = now.wallMs - left.wallMs;
  const { ended } = left;
  if (isThisBoot) return { agoMs: now.uptimeMs - left.uptimeMs, ended };
  return { agoMs: ended ? Math.max(0, wallAgoMs) : Math.abs(wallAgoMs), ended };
}
