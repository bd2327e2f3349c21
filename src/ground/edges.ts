/** The outside as commands see it: made once in `main.ts`, replaced in tests. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { type Clock, systemClock } from "./clock.ts";
import { createInterruptions, systemTicks } from "./interruptions.ts";

export type Sink = {
  write: (text: string) => void;
  /** Whether a person looks at it. */
  isTTY: boolean;
  columns: number;
  /** Height in lines; absent where no terminal is. */
  rows?: number | undefined;
  /** Resolves once the output is flushed: await it between large writes. */
  drained?: () => Promise<void>;
  /** Calls back whenever the terminal has got another size. Returns how to stop listening. */
  onResize?: (callback: () => void) => () => void;
  /**
   * Says that the work goes on without this output: nobody has to read it, and a reader that stands still holds nothing up.
   *
   * @param onLost hears the errno of the first text that cannot be written
   */
  spare?: (onLost: (errno: string) => void) => void;
  isSpare?: boolean;
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
  directory: string;
  /**
   * Calls back at the first Ctrl-C, SIGTERM or SIGHUP, or when nobody reads the results any more (`| head`); ends the
   * process at a later signal. Returns how to stop listening.
   */
  onInterrupt: (callback: (signal: string) => void) => () => void;
};

/** What `onInterrupt` is told when nobody reads the results any more. */
export const READER_GONE = "SIGPIPE";

/** Thrown by a command that was interrupted, after it has closed what it had opened. It is no error: nothing went wrong. */
export class Interrupted {
  /** The signal, or `READER_GONE`. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

function bootId(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return null;
  }
}

/**
 * The first signal that ends a command which works for months. A full disk below its output, or a reader of it that has
 * gone, does not.
 *
 * @param warn hears that standard output is lost
 */
export function untilInterrupted(
  { onInterrupt, stdout, stderr }: Pick<Edges, "onInterrupt" | "stdout" | "stderr">,
  warn: (message: string) => void,
): Promise<string> {
  stderr.spare?.(() => undefined);
  stdout.spare?.((errno) =>
    warn(`standard output cannot be written (${errno}): the work goes on without it`),
  );
  return new Promise((resolve) => void onInterrupt(resolve));
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

/** Text that may wait in memory for the reader of a spare output, in bytes: what comes on top of it is left out. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** What Node does not declare of its streams: whether a write waits until it is done. */
type Unblockable = { _handle?: { setBlocking?: (blocks: boolean) => void } };

/** @param onGone called once when a results' reader has gone, or their disk is full; what is written afterwards goes nowhere */
function sink(stream: NodeJS.WriteStream, onGone: () => void): Sink {
  let gone = false;
  let onLost: ((errno: string) => void) | null = null;
  stream.on("error", ({ code = "unknown error" }: NodeJS.ErrnoException) => {
    // EPIPE is `| head`, which has seen enough; EIO a terminal that was closed. A disk may have room again.
    const forGood = code === "EPIPE" || code === "EIO";
    if (gone) return;
    gone = forGood || onLost === null;
    if (onLost !== null) return onLost(code);
    // A full disk must not look like done.
    if (!forGood) {
      process.exitCode = 1;
      if (stream === process.stdout) process.stderr.write(`The results cannot be written (${code}).\n`);
    }
    onGone();
  });
  return {
    write: (text) => {
      const waits = onLost !== null && stream.writableLength > MOST_WAITING_BYTES;
      if (!gone && !waits) stream.write(text);
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
    get isSpare() {
      return onLost !== null;
    },
    spare: (lost) => {
      let told = false;
      // A terminal whose text is held (Ctrl-S) would hold the whole process.
      if (stream.isTTY) (stream as Unblockable)._handle?.setBlocking?.(false);
      onLost = (errno) => {
        if (!told) lost(errno);
        told = true;
      };
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
