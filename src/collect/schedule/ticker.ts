/**
 * The heartbeat: node-cron says when to look, and each look covers the time since the last one. So a late, doubled
 * or missed tick neither loses nor repeats a slot; it is at worst seen a little late.
 *
 * node-cron alone would not do: its tick is lost when it comes over a second late, its timer sleeps through a clock
 * set back by an hour, and after a long sleep of the machine it walks every tick missed, blocking (about 0.07 ms
 * each: 17 s for a weekend of seconds). Hence the watch beside it, which notices that the wall clock and the
 * interval disagree, and starts the task anew from the present.
 */
import { schedule } from "node-cron";
import type { Clock } from "../../clock.ts";

/** The time one tick covers: (after, until]. Windows follow each other without gap or overlap. */
export type TickWindow = { after: Date; until: Date };

/** What a ticker needs. */
export type TickerOptions = {
  clock: Pick<Clock, "now">;
  /** `second` as soon as one schedule is `subMinute`, else `minute`. */
  every: "second" | "minute";
  /** Where the first window begins; default now. Given the last tick of an earlier run, the time between is covered. */
  since?: Date;
  /** Ask each schedule's `slotsBetween(after, until)` here. Called with ascending windows, never with an empty one. */
  onTick: (window: TickWindow) => void;
  /** What `onTick` threw. Its window is over all the same: a slot is never given twice. */
  onError: (error: unknown) => void;
  /**
   * The wall clock was moved, or the machine slept or was stopped: by how many ms (negative: set back). After
   * setting back nothing is due until the clock has passed the last tick again.
   */
  onClockStep?: (stepMs: number) => void;
};

/** How often the watch compares, and how far the clock may be off in between before it counts as moved. */
const WATCH_MS = 1_000;
const CLOCK_STEP_MS = 2_000;

const PATTERN = { second: "* * * * * *", minute: "0 * * * * *" } as const;

const quiet = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};

/** Starts ticking; returns how to stop. */
export function startTicker({
  clock,
  every,
  since,
  onTick,
  onError,
  onClockStep,
}: TickerOptions): () => void {
  let covered = (since ?? clock.now()).getTime();

  const tick = (): void => {
    const now = clock.now().getTime();
    if (now <= covered) return;
    const window = { after: new Date(covered), until: new Date(now) };
    covered = now;
    try {
      onTick(window);
    } catch (error) {
      onError(error);
    }
  };

  // UTC: seconds and minutes are the same everywhere that matters, and no clock change can touch them.
  const task = schedule(PATTERN[every], tick, {
    timezone: "UTC",
    suppressMissedWarning: true,
    logger: quiet,
  });
  // A tick over a second late is "missed" to node-cron; the next may be a minute away.
  task.on("execution:missed", tick);

  let lastLook = clock.now().getTime();
  const watch = setInterval(() => {
    const now = clock.now().getTime();
    const stepMs = now - lastLook - WATCH_MS;
    lastLook = now;
    if (Math.abs(stepMs) < CLOCK_STEP_MS) return;
    onClockStep?.(stepMs);
    void task.stop();
    void task.start();
    tick();
  }, WATCH_MS);

  return () => {
    clearInterval(watch);
    void task.destroy();
  };
}
