/**
 * The heartbeat: node-cron says when to look, and each look covers the time since the last one. So a late, doubled or
 * missed tick neither loses nor repeats a slot; it is at worst seen a little late.
 *
 * node-cron alone would not do. When the clock was set forward it walks each tick in between, blocking (0.1 ms each: 9 s for
 * a day of seconds), and its timer sleeps through a clock set back by an hour. So a task names the ticks of two minutes (or
 * hours) by their date, which comes again a year later: there is little to walk. The watch looks each second whether a
 * second (or minute) has begun that no tick has covered, and compares the clocks (`clockSteps.ts`). After a step, and when
 * the next minute (or hour) has begun, a new task takes over.
 *
 * Slots follow the wall clock, in both directions (docs/decisions/clock.md): set forward, the slots in between are in
 * the next window; set back, they come once more.
 */
import { schedule, type ScheduledTask } from "node-cron";
import type { Clock } from "../ground/clock.ts";
import type { ClockStep } from "../journal/ledger.ts";
import { CLOCK_STEP_MS, readClocks, watchClocks } from "./clockSteps.ts";

/** One tick covers (after, until]. Windows follow each other without gap or overlap, but for `onSetBack`. */
export type TickWindow = { after: Date; until: Date };

/** `second` as soon as one schedule is `subMinute`, else `minute`. */
export type TickUnit = "second" | "minute";

type TickerOptions = {
  clock: Pick<Clock, "now" | "uptimeMs" | "monotonicMs">;
  every: TickUnit;
  /** Where the first window begins. From the last tick of an earlier run on, the time between is covered. */
  since: Date;
  /** A tick has come: what is over can be closed. Its steps are as those of `onTick`, the first is done at once. */
  onOver: (now: Date) => Iterator<void>;
  /**
   * The place to ask each schedule's `slotsBetween(after, until)`. Never called with an empty window. Each step runs in
   * a turn of the event loop of its own, the first in the one that follows `onOver`: at a slot's start there may be
   * much to do, and arrived answers have their turn between. All steps that are left are done at once before any other
   * callback.
   */
  onTick: (window: TickWindow) => Iterator<void>;
  /** The wall clock says an earlier time than it did: the next window begins at `now`, and slots come once more. */
  onSetBack: (now: Date) => void;
  /** What was amiss with the machine's clocks; called before the tick or `onSetBack` that follows from it. */
  onClockStep: (step: ClockStep) => void;
  /** One of the above threw. Its window is over all the same and does not come again. */
  onError: (error: unknown) => void;
};

export type Ticker = {
  /** Covers the time up to now at once, as if a tick came, with all of its steps. */
  cover: () => void;
  setUnit: (every: TickUnit) => void;
  stop: () => void;
};

const WATCH_MS = 1_000;

const UNIT_MS = { second: 1_000, minute: 60_000 } as const;
/** How much of a task's time is over when the next task takes over. */
const SPAN_MS = { second: 60_000, minute: 3_600_000 } as const;

const quiet = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};

/** `stop` ends the ticking and leaves no timer behind. */
export function startTicker({ clock, since, onError, ...options }: TickerOptions): Ticker {
  let { every } = options;
  let coveredMs = since.getTime();
  const watch = watchClocks(readClocks(clock), WATCH_MS);

  const tell = (whom: () => void): void => tryOr(whom, onError);
  const tick = inTurns(onError);

  const look = (evenWithin: boolean): void => {
    const reading = readClocks(clock);
    const nowMs = reading.wallMs;
    const steps = watch(reading);
    // A clock that is behind by less has caught up before anybody misses it.
    const setBack = steps.some(({ kind }) => kind === "set_back") || coveredMs - nowMs >= CLOCK_STEP_MS;
    const begun = Math.floor(nowMs / UNIT_MS[every]) > Math.floor(coveredMs / UNIT_MS[every]);
    const due = nowMs > coveredMs && (begun || evenWithin);
    if (steps.length === 0 && !setBack && !due) return;
    tick.finish();
    for (const step of steps) tell(() => options.onClockStep(step));
    if (steps.length > 0 || Math.floor(nowMs / SPAN_MS[every]) !== Math.floor(armedMs / SPAN_MS[every]))
      arm();
    if (!setBack && !due) return;
    const window = { after: new Date(coveredMs), until: new Date(nowMs) };
    coveredMs = nowMs;
    if (setBack) tell(() => options.onSetBack(window.until));
    else tick.begin([options.onOver(window.until), options.onTick(window)]);
  };

  const lookIfBegun = (): void => look(false);
  let armedMs = clock.now().getTime();
  let task = tickAround(armedMs, every, lookIfBegun);
  const arm = (): void => {
    void task.destroy();
    armedMs = clock.now().getTime();
    task = tickAround(armedMs, every, lookIfBegun);
  };

  const timer = setInterval(lookIfBegun, WATCH_MS);
  return {
    cover: () => {
      look(true);
      tick.finish();
    },
    setUnit: (unit) => {
      if (unit === every) return;
      every = unit;
      arm();
    },
    stop: () => {
      tick.never();
      clearInterval(timer);
      void task.destroy();
    },
  };
}

function tryOr(work: () => void, onError: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    onError(error);
  }
}

/** Runs steps one after the other, each in a turn of the event loop, or all that are left at once. */
function inTurns(onError: (error: unknown) => void) {
  let left: readonly Iterator<void>[] = [];
  let turn: NodeJS.Immediate | undefined;
  const begin = (work: typeof left): void => {
    left = work;
    step();
  };
  const never = (): void => {
    clearImmediate(turn);
    left = [];
  };
  const step = (): void => {
    const before = left;
    never();
    let isOver = true;
    tryOr(() => (isOver = before[0]?.next().done !== false), onError);
    left = isOver ? before.slice(1) : before;
    if (left.length > 0) turn = setImmediate(step);
  };
  const finish = (): void => {
    while (left.length > 0) step();
  };
  return { begin, finish, never };
}

/** Ticks in this minute and the next, or this hour and the next. In UTC: no clock change of a zone can touch it. */
function tickAround(nowMs: number, every: TickUnit, onTick: () => void): ScheduledTask {
  const times = [new Date(nowMs), new Date(nowMs + SPAN_MS[every])];
  const named = (part: (at: Date) => number): string => [...new Set(times.map(part))].join();
  const [hour, day] = [named((at) => at.getUTCHours()), named((at) => at.getUTCDate())];
  const month = named((at) => at.getUTCMonth() + 1);
  const time = every === "second" ? `* ${named((at) => at.getUTCMinutes())}` : "0 *";
  return schedule(`${time} ${hour} ${day} ${month} *`, onTick, {
    timezone: "UTC",
    suppressMissedWarning: true,
    logger: quiet,
  });
}
