/** A backfill in a process of its own, watched by what it commits. */
import type { ChildProcess } from "node:child_process";
import type { BackfillWorld } from "./world.ts";

/** Waits until a run has committed something more. */
export async function moreAnswersThan(
  { pool }: BackfillWorld,
  before: number,
  child: ChildProcess,
): Promise<number> {
  for (;;) {
    const { rows } = await pool.query<{ n: number }>("select count(*)::int as n from responses");
    const n = rows[0]?.n ?? 0;
    if (n > before) return n;
    if (child.exitCode !== null) throw new Error(`it ended by itself with ${child.exitCode}`);
  }
}
