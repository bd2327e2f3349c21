/**
 * What the machine's clocks said last, for the next run: so it finds out whether the wall clock was moved while nothing
 * ran. The journal does not tell: its newest record may have been written under a clock that was wrong itself.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { type ClocksLeft, stepWhileAway } from "../schedule/clockSteps.ts";
import type { ClockStep } from "../journal/ledger.ts";
import { keepJson, readJson } from "../plainFiles.ts";

export type ClockFile = {
  /** How the wall clock was moved since the last run; null when it was not, as far as can be known. */
  away: ClockStep | null;
  /** Writes down what the clocks say. Never throws: what cannot be written is older, and tells less. */
  keep: () => Promise<void>;
};

/** Stands in each data directory in which a collector has run. */
export const CLOCK_FILE = "clock.json";

const clocksLeft = z.object({
  wallMs: z.number(),
  uptimeMs: z.number(),
  bootId: z.string().nullable().catch(null),
});

/** How often the clocks are to be written down while nothing happens to them, in ms. */
export const KEEP_CLOCK_EVERY_MS = 60_000;

/**
 * Looks at what the last run left.
 *
 * @param bootId the name of this start of the machine; null where it has none: then only a clock that went back is noticed
 */
export async function openClockFile(
  dataDir: string,
  { now, uptimeMs }: Pick<Clock, "now" | "uptimeMs">,
  bootId: string | null,
): Promise<ClockFile> {
  const path = join(dataDir, CLOCK_FILE);
  const read = (): ClocksLeft => ({ wallMs: now().getTime(), uptimeMs: uptimeMs(), bootId });
  const left = await readJson(path, clocksLeft);
  const away = left && stepWhileAway(left, read());
  let writing: Promise<void> = Promise.resolve();
  return { away, keep: () => (writing = writing.then(() => keepJson(path, read()))) };
}
