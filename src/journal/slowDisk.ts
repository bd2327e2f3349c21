/** A disk that takes so long to keep an answer that calls are missed. */
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";

/** A write that takes longer until it is on the disk costs calls, in ms; with half of it 60 calls a minute are made. */
const SLOW_WRITE_MS = 2_000;

const SAID_EVERY_MS = 60_000;

/** @returns null for a disk that costs no call */
export function slowDisk(dir: string, tookMs: number): QuotekeeperError | null {
  if (tookMs < SLOW_WRITE_MS) return null;
  return new QuotekeeperError(
    "DISK_SLOW",
    `${dir}: a write took ${(tookMs / 1_000).toFixed(1)} s until it was on the disk`,
  );
}

type Write = <T>(write: () => Promise<T>) => Promise<T>;

/** Measures writes, and reports a slow one at most once a minute. */
export function measuring({
  dir,
  clock,
  onProblem,
}: {
  dir: string;
  clock: Pick<Clock, "monotonicMs">;
  onProblem: (problem: QuotekeeperError) => void;
}): Write {
  let saidMs = -Infinity;
  return async (write) => {
    const beganMs = clock.monotonicMs();
    const written = await write();
    const nowMs = clock.monotonicMs();
    const slow = slowDisk(dir, nowMs - beganMs);
    if (slow !== null && nowMs - saidMs >= SAID_EVERY_MS) {
      saidMs = nowMs;
      onProblem(slow);
    }
    return written;
  };
}
