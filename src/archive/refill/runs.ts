/** Backfills as the database remembers them: an interrupted backfill goes on when the same is asked again. */
import { createHash } from "node:crypto";
import type pg from "pg";
import { backfills } from "../schema/backfillSchema.ts";
import { columnList } from "../schema/tableRows.ts";
import type { Instant } from "../../ground/clock.ts";
import { type BackfillReport, NOTHING_DONE } from "./backfillReport.ts";
import { jsonText } from "../../ground/outsideText.ts";

/** What was asked: two runs with the same are the same backfill. Plain JSON, without secrets. */
export type BackfillRequest = { kind: "journal" | "xml" | "csv" | "parquet"; [detail: string]: unknown };

export type Run = {
  id: number;
  /** Whether an earlier run of it was interrupted. */
  resumed: boolean;
  /** Whether the ledger held no slot when it began: it restores an archive then, and fills no slots of its own. */
  beganEmpty: boolean;
  report: BackfillReport;
};

/** Goes on with an unfinished backfill of the same, or begins one. */
export async function beginRun(
  pool: pg.Pool,
  { kind, ...asked }: BackfillRequest,
  now: Instant,
): Promise<Run> {
  const text = jsonText(asked);
  const digest = createHash("sha256").update(`${kind} ${text}`).digest("hex");
  const { rows } = await pool.query<Run>(
    `with begun as (
       insert into backfills (${columnList(backfills, "kind", "asked", "digest", "beganEmpty", "startedAt", "report")})
       select $1, $2, $3, not exists (select from slots), $4, $5
       on conflict (digest) where finished_at is null do nothing
       returning id, false as resumed, began_empty as "beganEmpty", report
     )
     select * from begun
     union all
     select id, true, began_empty, report from backfills where digest = $3 and finished_at is null
     limit 1`,
    [kind, text, digest, now, jsonText(NOTHING_DONE)],
  );
  const row = rows[0];
  if (row === undefined) return beginRun(pool, { kind, ...asked }, now);
  return { ...row, report: { ...NOTHING_DONE, ...row.report } };
}

/** Ends it: asked again, it begins anew. */
export async function finishRun(pool: pg.Pool, { id, report }: Run, now: Instant): Promise<void> {
  await pool.query(
    `with gone as (delete from backfill_positions where backfill_id = $1)
     update backfills set finished_at = $2, report = $3 where id = $1`,
    [id, now, jsonText(report)],
  );
}
