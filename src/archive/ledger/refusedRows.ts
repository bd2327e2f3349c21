/** Rows that the database refused, as misses of the slots in whose time they came. */
import { and, between, eq } from "drizzle-orm";
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import type { LedgerSource, SlotEntry } from "../../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { isNamed } from "../schema/instrumentNames.ts";
import { deadLetters, misses } from "../schema/schema.ts";
import { clean, columnList, tablesOn } from "../schema/tableRows.ts";
import { withNear } from "../tiers/citus/door.ts";
import { isOfMarket, LEDGER_SOURCE_IDS, NAME_OF_ONE } from "./ledgerNames.ts";

/** An entry of a slot, and until when answers could count for it. */
export type SettledSlot = { source: LedgerSource; entry: SlotEntry; settledAt: Instant };

/**
 * Rows that the database refused were stored as far as the collector knew. They are missed at the slots in whose time
 * they came, as `malformed`, unless the instrument has another quote of that time.
 */
export async function missRefused(client: pg.ClientBase, settled: readonly SettledSlot[]): Promise<void> {
  if (settled.length === 0) return;
  const [since = ""] = settled.map(({ entry }) => entry.slotAt).sort();
  const until = settled.map(({ settledAt }) => settledAt).reduce((a, b) => (a > b ? a : b));
  const letters = await tablesOn(client)
    .select({ reason: deadLetters.reason })
    .from(deadLetters)
    .where(and(eq(deadLetters.reason, "refused_by_database"), between(deadLetters.observedAt, since, until)))
    .limit(1);
  if (letters.length === 0) return;
  await withNear(
    client,
    () => [{ table: "quotes", rows: "where t.observed_at between $1 and $2", values: [since, until] }],
    () => missAsMalformed(client, settled),
  );
}

async function missAsMalformed(client: pg.ClientBase, settled: readonly SettledSlot[]): Promise<void> {
  await client.query(
    `with settled as (
       select e.job, e.slot_at, e.source_id, a.id as account_id, e.settled_at
       from unnest($1::text[], $2::timestamptz[], $3::smallint[], $5::text[], $4::timestamptz[])
         as e (job, slot_at, source_id, account, settled_at)
       join accounts a on a.name = e.account
     ), lost as (
       select distinct s.job, s.slot_at, s.source_id, s.account_id, l.instrument
       from settled e join slots s using (job, slot_at, source_id, account_id)
       join due_sets d on d.id = s.due_set_id
       join dead_letters l on l.reason = 'refused_by_database' and ${isOfMarket("l.source_id", "s.source_id")}
         and l.observed_at between e.slot_at and e.settled_at and l.instrument = any (d.instruments)
       where not exists (
         select from instruments i join quotes q on q.instrument_id = i.id
         where ${isNamed("l.instrument")} and ${isOfMarket("q.source_id", "s.source_id")}
           and q.observed_at between e.slot_at and e.settled_at)
       union
       select s.job, s.slot_at, s.source_id, s.account_id, w.name
       from settled e join slots s using (job, slot_at, source_id, account_id)
       join due_sets d on d.id = s.due_set_id
       cross join lateral (
         select ${NAME_OF_ONE} as name
         from responses r
         left join lateral (
           select true as some from quotes q where q.observed_at = r.observed_at and q.source_id = r.source_id limit 1
         ) q on true
         where ${isOfMarket("r.source_id", "s.source_id")} and r.account_id = s.account_id and r.observed_at between e.slot_at and e.settled_at
           and r.request ->> 'form' in ('watchlist', 'chain') and r.outcome = 'quotes'
         group by 1 having bool_and(q.some is null)
       ) w
       where w.name = any (d.instruments)
     ), noted as (
       insert into misses (${columnList(misses, "job", "slotAt", "sourceId", "accountId", "instrument", "reason")})
       select job, slot_at, source_id, account_id, instrument, 'malformed' from lost
       on conflict do nothing returning job, slot_at, source_id, account_id
     )
     update slots set stored = stored - n, missed = missed + n
     from (select job, slot_at, source_id, account_id, count(*)::int as n from noted group by 1, 2, 3, 4) c
     where (slots.job, slots.slot_at, slots.source_id, slots.account_id) = (c.job, c.slot_at, c.source_id, c.account_id)`,
    [
      settled.map(({ entry }) => entry.job),
      settled.map(({ entry }) => entry.slotAt),
      settled.map(({ source }) => LEDGER_SOURCE_IDS[source]),
      settled.map(({ settledAt }) => settledAt),
      settled.map(({ entry }) => clean(entry.account ?? DEFAULT_ACCOUNT)),
    ],
  );
}
