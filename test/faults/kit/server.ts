/** A PostgreSQL server that a run may kill, with the settings the program gives its own. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOwnServer } from "../../support/postgres/server.ts";
import { until } from "../../support/until.ts";

/** A server in a temporary directory. */
export type FaultServer = {
  /** Connection string of its owner. */
  url: string;
  /** kill -9 of the postmaster; resolves when it is gone. */
  kill: () => Promise<void>;
  /** Starts it again, on the same port. */
  revive: () => Promise<void>;
  close: () => Promise<void>;
};

/** Starts one. */
export async function startFaultServer(): Promise<FaultServer> {
  const dir = mkdtempSync(join(tmpdir(), "quotekeeper-faults-postgres-"));
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(dir, 0o755);
  const onExit = (): void => {
    signalPostmaster(join(dir, "postgres"), "SIGQUIT");
    rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", onExit);
  const server = await openOwnServer(dir);
  return {
    url: server.url,
    kill: () => killPostmaster(join(dir, "postgres")),
    revive: server.revive,
    close: async () => {
      await server.close();
      process.off("exit", onExit);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** kill -9 of the postmaster of a cluster; its backends notice and end by themselves. Resolves when it is gone. */
export async function killPostmaster(clusterDir: string): Promise<void> {
  const pid = signalPostmaster(clusterDir, "SIGKILL");
  if (pid !== null) await until(() => !isAlive(pid), "the postmaster being gone");
}

/** Signals the postmaster of a cluster. @returns its pid; null when there is none */
export function signalPostmaster(clusterDir: string, signal: NodeJS.Signals): number | null {
  try {
    const pid = Number(readFileSync(join(clusterDir, "postmaster.pid"), "utf8").split("\n")[0]);
    if (!(pid > 1)) return null;
    process.kill(pid, signal);
    return pid;
  } catch {
    return null;
  }
}

/** A zombie, which nobody has reaped yet, is dead. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1);
    return afterName?.[0] !== "Z";
  } catch {
    return false;
  }
}
