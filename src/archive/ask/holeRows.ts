/** From a hole to what was asked at its slot, and what the service answered. */
import { describeCall, type QuoteCall, type SavedCall } from "../../quotes/call.ts";
import type { Queryable } from "../connect/transaction.ts";
import { isoOf } from "./queries.ts";
import type { SourceKind } from "./dashboardTypes.ts";
import type { HoleRow, HolesView, SlotCall, SlotView, Span } from "./healthTypes.ts";

/** Slots that are told, instruments of a reason, and calls of a slot. */
const MOST_HOLES = 200;
const MOST_INSTRUMENTS = 60;
const MOST_CALLS = 300;

/** A slot that no other one follows has its calls within so much. */
const LAST_SLOT = "interval '1 hour'";

/** Slots of a market at which something was missed. @param reason only those with misses for it; null: for any */
export async function readHoles(
  pool: Queryable,
  { from, to }: Span,
  { source, reason }: { source: SourceKind; reason: string | null },
): Promise<HolesView> {
  const { rows } = await pool.query<HoleRow & { total: string }>(
    `with holes as (
       select s.*, count(*) over () as total from slots s
       where slot_at >= $1 and slot_at < $2 and missed > 0 and source_id in (select id from sources where kind = $3)
         and ($4::text is null or (job, slot_at, source_id, account_id) in (
           select job, slot_at, source_id, account_id from misses where slot_at >= $1 and slot_at < $2 and reason = $4))
       order by slot_at desc, job, account_id limit ${MOST_HOLES}
     ), why as (
       select job, slot_at, source_id, account_id, reason, sum(case when instrument = '*' then due else 1 end)::float8 as n
       from holes join misses m using (job, slot_at, source_id, account_id) group by 1, 2, 3, 4, 5
     )
     select job, slot_at as at, a.name as account, due, stored, missed, total,
       coalesce(jsonb_object_agg(reason, n) filter (where reason is not null), '{}') as reasons
     from holes join accounts a on a.id = account_id left join why using (job, slot_at, source_id, account_id)
     group by job, slot_at, source_id, account_id, a.name, due, stored, missed, total
     order by slot_at desc, job, a.name`,
    [from, to, source, reason],
  );
  const holes = rows.map(({ total: _total, ...row }) => ({ ...row, at: isoOf(row.at) }));
  return { holes, total: Number(rows[0]?.total ?? 0) };
}

type SlotKey = { job: string; at: string; source: SourceKind };

/** One slot with its calls; null: the ledger has no such slot. */
export async function readSlot(pool: Queryable, key: SlotKey): Promise<SlotView | null> {
  const { job, at, source } = key;
  const { rows: shares } = await pool.query<SlotView["shares"][number] & { next_at: string | null }>(
    `select a.name as account, due, stored, missed,
       (select min(slot_at) from slots n where n.job = $1 and n.slot_at > $2 and n.source_id = s.source_id) as next_at
     from slots s join accounts a on a.id = account_id
     where job = $1 and slot_at = $2 and source_id in (select id from sources where kind = $3) order by a.name`,
    [job, at, source],
  );
  const [first] = shares;
  if (!first) return null;
  const { rows: reasons } = await pool.query<SlotView["reasons"][number]>(
    `select a.name as account, reason, sum(case when instrument = '*' then s.due else 1 end)::float8 as count,
       (array_agg(instrument order by instrument))[1:${MOST_INSTRUMENTS}] as instruments
     from misses m join slots s using (job, slot_at, source_id, account_id) join accounts a on a.id = account_id
     where job = $1 and slot_at = $2 and source_id in (select id from sources where kind = $3)
     group by 1, 2 order by 3 desc, 1, 2`,
    [job, at, source],
  );
  const until = first.next_at === null ? null : isoOf(first.next_at);
  return {
    job,
    at,
    until,
    reasons,
    shares: shares.map(({ next_at: _next, ...share }) => share),
    calls: await readCallsOf(pool, key, until),
  };
}

type CallRow = Omit<SlotCall, "asked"> & { request: QuoteCall | SavedCall };

/** The calls that were sent for a job from its slot until the next one. A late answer is of the slot that asked for it. */
async function readCallsOf(
  pool: Queryable,
  { job, at, source }: SlotKey,
  until: string | null,
): Promise<SlotCall[]> {
  const { rows } = await pool.query<CallRow>(
    `select a.name as account, request, requested_at as "requestedAt", observed_at as "observedAt", outcome, http_status as "httpStatus",
       rate_limit_used as used, rate_limit_remaining as remaining, rate_limit_limit as "limit", body_bytes as "bodyBytes",
       journal_segment as segment, journal_offset::float8 as "offset"
     from responses join accounts a on a.id = account_id
     where observed_at >= $2 and observed_at < coalesce($4::timestamptz, $2::timestamptz + ${LAST_SLOT}) + interval '1 minute'
       and requested_at >= $2 and requested_at < coalesce($4::timestamptz, $2::timestamptz + ${LAST_SLOT})
       and $1 = any (string_to_array(job, ',')) and source_id in (select id from sources where kind = $3)
     order by observed_at limit ${MOST_CALLS}`,
    [job, at, source, until],
  );
  return rows.map(({ request, ...call }) => ({
    ...call,
    asked: request.form === "saved" ? request.file : describeCall(request),
    requestedAt: isoOf(call.requestedAt),
    observedAt: isoOf(call.observedAt),
  }));
}
