/** The outside as commands see it: made once in `main.ts`, replaced in tests. */
import { type Clock, systemClock } from "../clock.ts";

/** A place to write to. */
export type Sink = {
  write: (text: string) => void;
  /** Whether a person looks at it. */
  isTTY: boolean;
  /** Width in characters. */
  columns: number;
};

/** Everything a command may touch besides files, sockets and the database. */
export type Edges = {
  clock: Clock;
  /** Results. */
  stdout: Sink;
  /** Logs and complaints. */
  stderr: Sink;
  env: Readonly<Record<string, string | undefined>>;
  /** Working directory, where `.env` is looked for. */
  directory: string;
  /** Calls back at the first Ctrl-C, SIGTERM or SIGHUP, ends the process at a second; returns how to stop listening. */
  onInterrupt: (callback: (signal: string) => void) => () => void;
};

/** Ctrl-C, a service manager's stop, and a terminal that was closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** 128 + SIGINT, as shells have it. */
const EXIT_AT_SECOND_SIGNAL = 130;

/** The process itself. */
export function processEdges(): Edges {
  return {
    clock: systemClock,
    stdout: sink(process.stdout),
    stderr: sink(process.stderr),
    env: process.env,
    directory: process.cwd(),
    onInterrupt: (callback) => {
      let asked = false;
      const listener = (signal: NodeJS.Signals): void => {
        // Whoever asks twice does not want to wait. What was answered is in the journal.
        if (asked) process.exit(EXIT_AT_SECOND_SIGNAL);
        asked = true;
        callback(signal);
      };
      SIGNALS.forEach((signal) => process.on(signal, listener));
      return () => SIGNALS.forEach((signal) => process.off(signal, listener));
    },
  };
}

function sink(stream: NodeJS.WriteStream): Sink {
  return {
    write: (text) => void stream.write(text),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns || 80;
    },
  };
}
