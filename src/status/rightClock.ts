/** A machine without a battery begins in 1970, or at its maker's date, until a time service has set its clock. */
import type { Clock } from "../ground/clock.ts";
import { QuotekeeperError } from "../ground/errors.ts";
import type { Line } from "./statusJson.ts";

/** No right clock shows less: no version of this program is older. */
const PROGRAM_BEGAN = new Date("2026-01-01T00:00:00Z");

const LOOK_EVERY_MS = 1_000;

/** Null: the clock may be right. */
export function wrongClock(now: Date): QuotekeeperError | null {
  return now >= PROGRAM_BEGAN
    ? null
    : new QuotekeeperError("CLOCK_WRONG", `the machine's clock shows ${now.toISOString().slice(0, 19)}Z`);
}

/** @throws QuotekeeperError CLOCK_WRONG */
export function requireRightClock(now: Date): void {
  const wrong = wrongClock(now);
  if (wrong) throw wrong;
}

export function wrongClockLines(now: Date): Line[] {
  const wrong = wrongClock(now);
  return wrong ? [{ subject: "clock", state: "attention", text: wrong.message }] : [];
}

/** Waits until the clock may be right, or for the signal. @param onWrong called at each look until then */
export async function clockIsRight(
  { now, sleep }: Pick<Clock, "now" | "sleep">,
  signal: AbortSignal,
  onWrong: (wrong: QuotekeeperError) => void,
): Promise<void> {
  for (let wrong = wrongClock(now()); wrong && !signal.aborted; wrong = wrongClock(now())) {
    onWrong(wrong);
    await sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
}
