/** Fills of slots whose entries a rebuild has made anew. */
import type pg from "pg";
import { isNamed, rootsOf } from "../schema/instrumentNames.ts";
import type { slots } from "../schema/schema.ts";
import { inArrays } from "../schema/tableRows.ts";
import { type NearRows, withNear } from "../tiers/citus/door.ts";
import { beginFound, settle } from "./fillSlots.ts";

/** An account's share of a slot of a job in a source, by the source's number and the account's name. */
export type SlotKey = Pick<typeof slots.$inferSelect, "job" | "slotAt" | "sourceId"> & { account: string };

/** SQL of the shares that `slotKeyValues` gives, as `w`. */
export const SLOT_KEYS = `(select k.*, a.id as account_id
  from unnest($1::text[], $2::timestamptz[], $3::smallint[], $4::text[]) as k (job, slot_at, source_id, account)
  join accounts a on a.name = k.account) w`;

export function slotKeyValues(keys: readonly SlotKey[]): unknown[] {
  return inArrays(keys, "job", "slotAt", "sourceId", "account");
}

/**
 * Fills slots again whose entries were made anew: a fill stands when its miss is there again and its quote still is, and
 * goes otherwise. In the transaction that has made them.
 */
export async function restoreFills(client: pg.ClientBase, keys: readonly SlotKey[]): Promise<void> {
  if (keys.length === 0) return;
  await beginFound(client);
  await withNear(
    client,
    () => fillsNear(client, keys),
    () => refind(client, keys),
  );
  await settle(client);
}

/** What has filled shares of slots. The ledger is asked first, by itself: Citus crashes on a join of it with what is cut. */
async function fillsNear(client: pg.ClientBase, keys: readonly SlotKey[]): Promise<NearRows[]> {
  const { rows } = await client.query<{ root: string; observed_at: string; source_id: number }>(
    `select unnest(${rootsOf("f.instrument")}) as root, f.observed_at::text, f.fill_source_id as source_id
     from fills f join ${SLOT_KEYS}
       on f.job = w.job and f.slot_at = w.slot_at and f.source_id = w.source_id and f.account_id = w.account_id`,
    slotKeyValues(keys),
  );
  const roots = rows.map(({ root }) => root);
  return [
    { table: "instruments", rows: "where coalesce(t.root, t.symbol) = any ($1)", values: [roots] },
    {
      table: "quotes",
      rows: `join instruments i on i.id = t.instrument_id
        join unnest($1::text[], $2::timestamptz[], $3::smallint[]) as f (root, observed_at, source_id)
          on f.observed_at = t.observed_at and f.source_id = t.source_id and coalesce(i.root, i.symbol) = f.root
        on conflict do nothing`,
      values: [roots, rows.map((row) => row.observed_at), rows.map((row) => row.source_id)],
    },
  ];
}

async function refind(client: pg.ClientBase, keys: readonly SlotKey[]): Promise<void> {
  await client.query(
    `with gone as (
       delete from fills f using ${SLOT_KEYS}
       where f.job = w.job and f.slot_at = w.slot_at and f.source_id = w.source_id and f.account_id = w.account_id
       returning f.*
     )
     insert into found_fills
     select g.job, g.slot_at, g.source_id, g.instrument, m.reason, m.instrument = '*', g.observed_at, g.fill_source_id,
            g.filled_by, g.filled_at, g.account_id
     from gone g
     join misses m on m.job = g.job and m.slot_at = g.slot_at and m.source_id = g.source_id
       and m.account_id = g.account_id and m.instrument in (g.instrument, '*')
     where exists (
       select from instruments i
       join quotes q on q.instrument_id = i.id and q.observed_at = g.observed_at and q.source_id = g.fill_source_id
       where ${isNamed("g.instrument")}
     )`,
    slotKeyValues(keys),
  );
}
