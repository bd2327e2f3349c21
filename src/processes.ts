/** The only place that asks the machine about processes. */

/** What this process knows of processes. */
export type Processes = {
  /** Its own id. */
  pid: number;
  /** Whether a process of that id runs, whoever's it is. */
  isRunning: (pid: number) => boolean;
};

/** The machine's own. */
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
 * Whether what a process left under its id is nobody's any more. In a container each run may have the same id, so what
 * bears one's own is of an earlier run.
 */
export function isGone(pid: number, { pid: own, isRunning }: Processes): boolean {
  return pid === own || !isRunning(pid);
}
