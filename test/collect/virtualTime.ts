/**
 * Virtual time for the whole collector: jest's clock drives node-cron, and our `Clock` reads the same. Time
 * goes from timer to timer; between two of them everything that waits for nothing has its turn.
 */
import { jest } from "@jest/globals";
import type { Clock } from "../../src/ground/clock.ts";

/** Time that only a test moves. */
export type VirtualTime = {
  clock: Clock;
  /** Goes on to an instant, through every timer on the way. */
  until: (instant: string | number) => Promise<void>;
  /** Goes on by so many ms. */
  pass: (ms: number) => Promise<void>;
  /** Lets everything run that waits for no time. */
  settle: () => Promise<void>;
  /** The machine sleeps: the wall clock goes on, and no timer fires meanwhile. */
  sleepMachine: (ms: number) => void;
  /** The process cannot run for so long, though the machine does: every clock goes on, and no timer fires. */
  stall: (ms: number) => void;
  /** Somebody moves the wall clock by so many ms, below 0: back. No other clock notices. */
  moveClock: (ms: number) => void;
};

const RealDate = Date;

/** As `Date` in virtual time. jest's own makes the same date in many times the time. */
const virtualDate = Object.assign(
  function (...args: []): Date {
    return args.length === 0 ? new RealDate(jest.now()) : new RealDate(...args);
  },
  { now: () => jest.now(), parse: RealDate.parse, UTC: RealDate.UTC, prototype: RealDate.prototype },
) as unknown as typeof Date;

/** Takes over the clock of this test file until `jest.useRealTimers()`. */
export function startVirtualTime(start: string): VirtualTime {
  jest.useFakeTimers({
    now: Date.parse(start),
    doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "clearImmediate"],
  });
  // What an interval looks at changes nothing, unless a clock was disturbed: time goes on to the next timeout at once.
  let turn = false;
  let disturbed = false;
  const fakeSetTimeout = setTimeout;
  const virtualSetTimeout = ((callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
    fakeSetTimeout(() => {
      turn = true;
      callback(...args);
    }, ms)) as typeof setTimeout;
  globalThis.setTimeout = virtualSetTimeout;
  globalThis.Date = virtualDate;
  const beganMs = jest.now();
  let sleptMs = 0;
  let movedMs = 0;
  const jump = (ms: number): void => {
    disturbed = true;
    jest.setSystemTime(jest.now() + ms);
  };
  let drawn = 0;
  // What a timer leaves to the next turn has its turn as well.
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const until = async (instant: string | number): Promise<void> => {
    const endMs = typeof instant === "number" ? instant : Date.parse(instant);
    // A timer at the very end marks it, so that no other one is run that lies behind it.
    let there = false;
    setTimeout(() => (there = true), endMs - jest.now());
    await settle();
    while (!there) {
      // A test that took too long has given the clock back by now: going on would be for ever.
      if (setTimeout !== virtualSetTimeout) throw new Error("the virtual time has ended");
      turn = disturbed;
      do jest.advanceTimersToNextTimer();
      while (!turn);
      await settle();
    }
  };
  return {
    clock: {
      now: () => new RealDate(jest.now()),
      monotonicMs: () => jest.now() - beganMs - movedMs - sleptMs,
      uptimeMs: () => jest.now() - beganMs - movedMs,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason as Error);
          const onAbort = (): void => {
            clearTimeout(timer);
            reject(signal?.reason as Error);
          };
          const timer = setTimeout(() => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          }, ms);
          signal?.addEventListener("abort", onAbort, { once: true });
        }),
      // Chance repeats itself, so that a test does.
      random: (length) => Uint8Array.from({ length }, () => (drawn = (drawn * 73 + 41) % 256)),
    },
    until,
    pass: (ms) => until(jest.now() + ms),
    settle,
    sleepMachine: (ms) => {
      sleptMs += ms;
      jump(ms);
    },
    stall: jump,
    moveClock: (ms) => {
      movedMs += ms;
      jump(ms);
    },
  };
}
