/** The outside as commands see it: made once in `main.ts`, replaced in tests. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { type Clock, systemClock } from "../clock.ts";
import { createInterruptions, systemTicks } from "./interruptions.ts";

/** A place to write to. */
export type Sink = {
  write: (text: string) => void;
  /** Whether a person looks at it. */
  isTTY: boolean;
  /** Width in characters. */
  columns: number;
  /** Height in lines; absent where no terminal is. */
  rows?: number | undefined;
  /** Resolves when what was written has left the process, as far as it goes: whoever writes much does not pile it up. */
  drained?: () => Promise<void>;
  /** Calls back whenever the terminal has got another size. Returns how to stop listening. */
  onResize?: (callback: () => void) => () => void;
};

/** Everything a command may touch besides files, sockets and the database. */
export type Edges = {
  clock: Clock;
  /** How long the machine has been running, in seconds. */
  uptimeSeconds: () => number;
  /** What tells this boot of the machine from all others; null where the system does not say. */
  bootId: string | null;
  stdout: Sink;
  stderr: Sink;
  /** Standard input; absent where nothing can be read. */
  stdin?: () => NodeJS.ReadableStream & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
  /** The effective user id, 0 for root; absent where the system has no users, as on Windows. */
  uid?: number | undefined;
  /** Working directory, where `.env` is looked for. */
  directory: string;
  /**
   * Calls back at the first Ctrl-C, SIGTERM or SIGHUP, or when nobody reads the results any more (`| head`); ends the
   * process at a later signal. Returns how to stop listening.
   */
  onInterrupt: (callback: (signal: string) => void) => () => void;
};

/** What `onInterrupt` is told when nobody reads the results any more. */
export const READER_GONE = "SIGPIPE";

/** Thrown by a command that was ended in its midst, after it has closed what it had opened. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Linux makes it anew at each boot. */
function bootId(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return null;
  }
}

export function processEdges(): Edges {
  // A script of somebody's own may leave us behind on purpose.
  const byNpm = ["start", "npx"].includes(process.env["npm_lifecycle_event"] ?? "");
  const interruptions = createInterruptions(process, { ticks: systemTicks, byNpm });
  return {
    clock: systemClock,
    uptimeSeconds: uptime,
    bootId: bootId(),
    stdout: sink(process.stdout, () => interruptions.tell(READER_GONE)),
    // A log that nobody reads stops nothing.
    stderr: sink(process.stderr, () => undefined),
    // Looked at by whoever reads it alone: it opens what is there.
    stdin: () => process.stdin,
    env: process.env,
    uid: process.geteuid?.(),
    directory: process.cwd(),
    onInterrupt: interruptions.listen,
  };
}

/** @param onGone called once when the other end of a pipe has gone; what is written afterwards goes nowhere */
function sink(stream: NodeJS.WriteStream, onGone: () => void): Sink {
  let gone = false;
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (gone) return;
    gone = true;
    // EPIPE is `| head`, which has seen enough; EIO a terminal that was closed. A full disk must not look like done.
    if (code !== "EPIPE" && code !== "EIO") {
      process.exitCode = 1;
      if (stream === process.stdout) process.stderr.write(`The results cannot be written (${code}).\n`);
    }
    onGone();
  });
  return {
    write: (text) => {
      if (!gone) stream.write(text);
    },
    isTTY: stream.isTTY === true,
    drained: async () => {
      if (gone || !stream.writableNeedDrain) return;
      await new Promise<void>((resolve) => {
        for (const event of ["drain", "error", "close"]) stream.once(event, () => resolve());
      });
    },
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || undefined;
    },
    onResize: (callback) => {
      stream.on("resize", callback);
      return () => stream.off("resize", callback);
    },
  };
}

/** Runs `work` with a signal that Ctrl-C aborts; then it throws Interrupted, whatever `work` threw. */
export async function endingAtInterrupt<T>(
  { onInterrupt }: Pick<Edges, "onInterrupt">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const stopListening = onInterrupt((signal) => {
    // Whoever stopped reading the results has not asked for less work.
    if (signal !== READER_GONE) ended.abort(new Interrupted(signal));
  });
  try {
    return await work(ended.signal);
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    stopListening();
  }
}
