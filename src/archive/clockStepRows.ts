/** What was amiss with the clocks of the machine that collects, in the database. */
import type pg from "pg";
import type { ClockNote, ClockStep } from "../journal/ledger.ts";
import { isoOf } from "./queries.ts";

/** Keeps a step of the clock. The same one again changes nothing. */
export async function insertClockStep(client: pg.ClientBase, { at, kind, stepMs }: ClockNote): Promise<void> {
  await client.query(
    "insert into clock_steps (moved_at, step_ms, kind) values ($1, $2, $3) on conflict do nothing",
    [at, stepMs, kind],
  );
}

/** The steps noticed in (since, until], by what the clock said then; the newest first. */
export async function readClockSteps(
  pool: Pick<pg.Pool, "query">,
  since: Date,
  until: Date,
): Promise<(ClockStep & { movedAt: Date })[]> {
  const { rows } = await pool.query<{ moved_at: string; step_ms: string; kind: ClockStep["kind"] }>(
    "select moved_at, step_ms, kind from clock_steps where moved_at > $1 and moved_at <= $2 order by moved_at desc",
    [since.toISOString(), until.toISOString()],
  );
  return rows.map(({ moved_at, step_ms, kind }) => ({
    movedAt: new Date(isoOf(moved_at)),
    stepMs: Number(step_ms),
    kind,
  }));
}
