/** What changes while the program collects and is worth a line: told when it changes, not while it lasts. */
import { QuotekeeperError } from "../errors.ts";
import type { Log } from "../log.ts";

/** What is looked at. */
export type Watched = {
  /** What timestamps are corrected by, in ms; 0 while the machine's clock is right. */
  clockCorrectionMs: number;
  /** The last call's error, null when it brought quotes. */
  lastError: Error | null;
};

/** A change of the correction below this, in ms, is the same fault. */
const SAME_CORRECTION_MS = 5_000;

/** @returns to be called now and then with how things are */
export function createEvents(log: Log): (now: Watched) => void {
  let correctionMs = 0;
  let failing: Error | null = null;
  return ({ clockCorrectionMs, lastError }) => {
    if (clockCorrectionMs === 0 && correctionMs !== 0) log.info({}, "the machine's clock is right again");
    else if (Math.abs(clockCorrectionMs - correctionMs) > SAME_CORRECTION_MS)
      log.warn(
        { offSeconds: Math.round(-clockCorrectionMs / 1_000) },
        "the machine's clock is off: calls are signed by the service's, but slots are kept by the machine's",
      );
    correctionMs = clockCorrectionMs;
    if (lastError === null && failing !== null)
      log.info({}, notKept(failing) ? "answers are kept again" : "the service answers again");
    failing = lastError;
  };
}

function notKept(error: Error): boolean {
  return error instanceof QuotekeeperError && error.code.startsWith("JOURNAL_");
}
