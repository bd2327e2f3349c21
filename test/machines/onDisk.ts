/** A small disk of its own for a trial. */
import { execFileSync } from "node:child_process";
import { LeftOut } from "./trial.ts";

/** Mounts a disk of that size while `work` goes on. @param disk an empty directory @throws LeftOut where this user may not */
export async function onDisk<T>(disk: string, size: string, work: () => Promise<T>): Promise<T> {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=755`, "quotekeeper", disk], {
      stdio: "ignore",
    });
  } catch (cause) {
    throw new LeftOut("only root may mount a small disk", { cause });
  }
  try {
    return await work();
  } finally {
    execFileSync("umount", [disk]);
  }
}
