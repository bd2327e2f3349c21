/**
 * PostgreSQL refuses to run as root. For root it is started as another user of the machine; where that user may not
 * enter the directories (a checkout below a directory of mode 700), it keeps one capability, to search and read.
 */
import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { environmentOf } from "../../ground/processes.ts";
import { userNamed } from "../../ground/users.ts";
import { everyoneMayEnter } from "./reachable.ts";

export type RunAs = {
  /** Owner for the cluster's files; null: whoever we are. */
  owner: { uid: number; gid: number } | null;
  /** Words to put before the command; empty when spawning with `owner` is enough. */
  prefix: string[];
};

/** Users of the machine that may own the cluster when we are root, best first. */
const CANDIDATES = ["postgres", "nobody"];

/**
 * @param uid our effective user id, undefined on Windows
 * @returns null when root has no way to start it; the caller names the remedy
 */
export async function decideRunAs(uid: number | undefined, clusterDir: string): Promise<RunAs | null> {
  if (uid !== 0) return { owner: null, prefix: [] };
  const owner = await chooseOwner(clusterDir);
  if (owner === null) return null;
  if (await everyoneMayEnter(clusterDir)) return { owner, prefix: [] };
  const prefix = [
    "setpriv",
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    "--clear-groups",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
    "--",
  ];
  return (await succeeds([...prefix, "true"])) ? { owner, prefix } : null;
}

/** The owner of an existing cluster stays its owner; else the first candidate that /etc/passwd knows. */
async function chooseOwner(clusterDir: string): Promise<{ uid: number; gid: number } | null> {
  const existing = await stat(clusterDir).catch(() => null);
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  const user = CANDIDATES.map(userNamed).find((found) => found !== null);
  return user ? { uid: user.uid, gid: user.gid } : null;
}

async function succeeds([command = "", ...args]: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "ignore", env: environmentOf(process.env, "other") });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
