/** A program in a terminal of its own: Python makes the pair of devices, which Node cannot. */
import { spawn, spawnSync } from "node:child_process";

/** Whether there is a Python here to make one. */
export const hasTerminals = spawnSync("python3", ["-c", "import pty"]).status === 0;

/** Copies both ways; says the program's process id on its own stderr, and ends with the program's exit code. */
const COPY = `
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
os.write(2, b"%d\\n" % pid)
sources = [0, terminal]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 4096)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == 0:
            os.write(terminal, data)
        else:
            os.write(1, data)
status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
`;

/** A running program. */
export type InTerminal = {
  /** Resolves when it has said this since the last time, with everything it said since then. */
  said: (pattern: RegExp) => Promise<string>;
  /** What is typed; Enter is \r. */
  type: (keys: string) => void;
  /** Sends it a signal. */
  kill: (signal: NodeJS.Signals) => void;
  /** Its exit code (128 and its number for a signal), and everything that stood on the screen. */
  ended: Promise<{ exitCode: number | null; screen: string }>;
};

/** @param argv the program, by its absolute path, and its arguments */
export function inTerminal(
  argv: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): InTerminal {
  const child = spawn("python3", ["-c", COPY, ...argv], options);
  let screen = "";
  let taken = 0;
  let pid = "";
  let look = (): void => undefined;
  child.stdout.on("data", (piece: Buffer) => {
    screen += piece.toString("utf8");
    look();
  });
  child.stderr.on("data", (piece: Buffer) => (pid += piece.toString("utf8")));
  const ended = new Promise<{ exitCode: number | null; screen: string }>((resolve) => {
    child.once("close", (exitCode) => resolve({ exitCode, screen }));
  });
  const said = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      look = () => {
        const since = screen.slice(taken);
        const match = pattern.exec(since);
        if (!match) return;
        taken += match.index + match[0].length;
        look = () => undefined;
        resolve(since);
      };
      void ended.then(() => reject(new Error(`it ended and never said ${String(pattern)}: ${screen}`)));
      look();
    });
  return {
    said,
    type: (keys) => void child.stdin.write(keys),
    kill: (signal) => void process.kill(Number(pid.trim()), signal),
    ended,
  };
}
