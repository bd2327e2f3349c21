/** `postmaster.pid`, in which a server of PostgreSQL notes itself: while it runs, and afterwards if it was killed. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a server has noted. Each is empty until the server has come so far. */
type PidFile = {
  /** The number of its process. */
  pid: string;
  /** Its directory, as an absolute path. */
  dir: string;
  port: string;
  /** The key of its shared memory; empty on Windows. */
  key: string;
  /** How far it has come, such as `ready`. */
  status: string;
};

/** Reads it, by the order of its lines (PostgreSQL: miscadmin.h). @returns only empty texts where there is none */
export async function readPidFile(clusterDir: string): Promise<PidFile> {
  const text = await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "");
  const [pid = "", dir = "", , port = "", , , memory = "", status = ""] = text.split("\n");
  const [key = ""] = memory.trim().split(/\s+/);
  return { pid: pid.trim(), dir: dir.trim(), port: port.trim(), key, status: status.trim() };
}
