import { expect, test } from "@jest/globals";
import { createInterruptions, EXIT_INTERRUPTED } from "../../src/ground/interruptions.ts";

/** A process whose parent and time the test moves. */
function world({ byNpm = false } = {}) {
  const listeners = new Map<string, (signal: NodeJS.Signals) => void>();
  const exits: number[] = [];
  const told: string[] = [];
  const signals = {
    ppid: 4711,
    on: (signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void) =>
      void listeners.set(signal, listener),
    off: (signal: NodeJS.Signals) => void listeners.delete(signal),
    exit: (code: number) => void exits.push(code),
  };
  const time = { nowMs: 0, look: null as (() => void) | null };
  const ticks = {
    monotonicMs: () => time.nowMs,
    every: (_ms: number, look: () => void) => {
      time.look = look;
      return () => (time.look = null);
    },
  };
  const { listen } = createInterruptions(signals, { ticks, byNpm });
  const stop = listen((signal) => told.push(signal));
  return {
    ...{ told, exits, signals, listeners, stop, listen },
    send: (signal: NodeJS.Signals) => listeners.get(signal)?.(signal),
    pass: (ms: number) => {
      time.nowMs += ms;
      time.look?.();
    },
    isLooking: () => time.look !== null,
  };
}

test("one Ctrl-C below npm, which the terminal sends and npm passes on, counts once", () => {
  const { send, pass, told, exits } = world({ byNpm: true });

  send("SIGINT");
  pass(300);
  send("SIGINT");

  expect({ told, exits }).toEqual({ told: ["SIGINT"], exits: [] });
});

test("a second signal after a second ends the program at once", () => {
  const { send, pass, told, exits } = world();

  send("SIGTERM");
  pass(1_000);
  send("SIGTERM");

  expect({ told, exits }).toEqual({ told: ["SIGTERM"], exits: [EXIT_INTERRUPTED] });
});

test("the end of npm's shell by SIGTERM asks the program to end", () => {
  const { pass, signals, told, exits, isLooking } = world({ byNpm: true });

  pass(1_000);
  expect(told).toEqual([]);
  signals.ppid = 1;
  pass(1_000);
  pass(60_000);

  expect({ told, exits, looking: isLooking() }).toEqual({ told: ["SIGTERM"], exits: [], looking: false });
});

test("the end of npm's shell after Ctrl-C does not ask a second time", () => {
  const { send, pass, signals, told, exits } = world({ byNpm: true });

  send("SIGINT");
  signals.ppid = 1;
  pass(5_000);

  expect({ told, exits }).toEqual({ told: ["SIGINT"], exits: [] });
});

test("the end of a parent that is not npm's, as after nohup, does not ask the program to end", () => {
  const { pass, signals, told } = world({ byNpm: false });

  signals.ppid = 1;
  pass(60_000);

  expect(told).toEqual([]);
});

test("no signal is caught and no parent is watched when nobody listens", () => {
  const { stop, listeners, isLooking } = world({ byNpm: true });

  stop();

  expect({ signals: listeners.size, looking: isLooking() }).toEqual({ signals: 0, looking: false });
});

test("one listener still hears of Ctrl-C when the other has stopped listening", () => {
  const { listen, stop, send, told } = world();
  listen((signal) => told.push(`left: ${signal}`));

  stop();
  send("SIGINT");

  expect(told).toEqual(["left: SIGINT"]);
});
