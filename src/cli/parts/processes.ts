/** What this process knows of processes. */

/** Its own id, and whether another one runs. */
export const PROCESSES: { pid: number; isRunning: (pid: number) => boolean } = {
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
