/** Who asks the program to end: a terminal, a service manager, or a parent that is gone. */

/** Ctrl-C, a service manager's stop, and a terminal that was closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** 128 + SIGINT, as shells have it. */
export const EXIT_INTERRUPTED = 130;

/**
 * A second signal so soon is the first one again: a terminal sends Ctrl-C to every program in it, and `npm start`,
 * which is one of them, passes it on to us.
 */
const SAME_SIGNAL_MS = 1_000;

/** How often it looks whether its parent is still there. */
const LOOK_EVERY_MS = 1_000;

type Signals = {
  on: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => void;
  off: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) => void;
  exit: (code: number) => void;
  /** Another process's id as soon as the parent has ended, POSIX alone. */
  readonly ppid: number;
};

/** What of time it touches: a clock that is never set back, and a timer that keeps no process alive. */
type Ticks = { monotonicMs: () => number; every: (ms: number, look: () => void) => () => void };

type Interruptions = {
  listen: (callback: (signal: string) => void) => () => void;
  /** As if that signal had come, but it does not count as one. */
  tell: (signal: string) => void;
};

/**
 * The first signal is told to whoever listens, a later one ends the process at once.
 *
 * @param options.byNpm whether npm has started us. It passes SIGTERM to its shell alone, and most shells end of it
 *   without a word to us; so a parent that has gone counts as SIGTERM. No `exec` in package.json: Windows has none.
 */
export function createInterruptions(
  signals: Signals,
  { ticks, byNpm }: { ticks: Ticks; byNpm: boolean },
): Interruptions {
  const callbacks = new Set<(signal: string) => void>();
  const parent = signals.ppid;
  let askedAtMs: number | null = null;
  let stopLooking = (): void => undefined;
  const tell = (signal: string): void => {
    for (const callback of [...callbacks]) callback(signal);
  };
  const listener = (signal: string): void => {
    const nowMs = ticks.monotonicMs();
    // Whoever asks again does not want to wait. What was answered is in the journal.
    if (askedAtMs !== null && nowMs - askedAtMs >= SAME_SIGNAL_MS) signals.exit(EXIT_INTERRUPTED);
    else if (askedAtMs === null) {
      askedAtMs = nowMs;
      tell(signal);
    }
  };
  const look = (): void => {
    if (signals.ppid === parent) return;
    stopLooking();
    if (askedAtMs === null) listener("SIGTERM");
  };
  return {
    tell,
    listen: (callback) => {
      if (callbacks.size === 0) {
        SIGNALS.forEach((signal) => signals.on(signal, listener));
        if (byNpm) stopLooking = ticks.every(LOOK_EVERY_MS, look);
      }
      callbacks.add(callback);
      return () => {
        callbacks.delete(callback);
        if (callbacks.size > 0) return;
        SIGNALS.forEach((signal) => signals.off(signal, listener));
        stopLooking();
      };
    },
  };
}

export const systemTicks: Ticks = {
  monotonicMs: () => performance.now(),
  every: (ms, look) => {
    const timer = setInterval(look, ms).unref();
    return () => clearInterval(timer);
  },
};
