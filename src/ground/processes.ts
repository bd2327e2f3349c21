/** The only place that asks the machine about processes. */
import { type ChildProcess, fork, spawn } from "node:child_process";

export type Processes = {
  pid: number;
  /** Whoever's process it is. */
  isRunning: (pid: number) => boolean;
};

export const PROCESSES: Processes = {
  pid: process.pid,
  isRunning: (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // Another user's process cannot be signalled, but it is there.
      return (error as NodeJS.ErrnoException).code === "EPERM";
    }
  },
};

/**
 * Whether nobody holds any more what a process left under its id. In a container each run may have the same id, so our
 * own id means an earlier run.
 */
export function isGone(pid: number, { pid: own, isRunning }: Processes): boolean {
  return pid === own || !isRunning(pid);
}

/** What programs need of our environment: to be found, to find their libraries, and to have room for their files. */
const NEEDED =
  /^(PATH|PATHEXT|LD_LIBRARY_PATH|DYLD_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC)$/i;

/** What npm needs besides: its settings, and the way to its registry. */
const NEEDED_BY_NPM =
  /^(HOME|USERPROFILE|APPDATA|LOCALAPPDATA|XDG_\w+|npm_.*|NPM_TOKEN|NODE_AUTH_TOKEN|(https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment of a program that we start. It is an allow-list: ours has credentials, and a process's environment
 * can be read.
 */
export function environmentOf(env: Environment, program: "npm" | "other"): NodeJS.ProcessEnv {
  const isNeeded = (name: string): boolean =>
    NEEDED.test(name) || (program === "npm" && NEEDED_BY_NPM.test(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isNeeded(name)));
}

/**
 * Runs this program with other arguments.
 *
 * @param signal ends it as Ctrl-C does
 * @returns what it printed, once it has ended
 */
export function runItself(
  words: readonly string[],
  signal: AbortSignal,
): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const argv = [...process.execArgv, process.argv[1] ?? "", ...words];
    const child = spawn(process.execPath, argv, {
      signal,
      killSignal: "SIGINT",
      stdio: ["ignore", "pipe", "pipe"],
    });
    const printed = { stdout: "", stderr: "" };
    child.stdout.on("data", (text: Buffer) => (printed.stdout += text.toString()));
    child.stderr.on("data", (text: Buffer) => (printed.stderr += text.toString()));
    // A program that could not be started says so, and never closes.
    child.once("error", (error) => {
      printed.stderr += error.message;
      if (child.pid === undefined) resolve(printed);
    });
    child.once("close", () => resolve(printed));
  });
}

/** Starts a file of the program in a process of its own, without credentials; the two exchange messages. */
export function startBeside(file: URL, ...words: string[]): ChildProcess {
  return fork(file, words, {
    execArgv: [],
    env: environmentOf(process.env, "other"),
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
}
