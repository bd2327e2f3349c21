/** What the ledger knows of shares of slots: the newest, those within a time, those left open, and those with misses. */
import type pg from "pg";
import type { LedgerSource, Share } from "../../journal/ledger.ts";
import type { slots } from "../schema/schema.ts";
import { ALL_INSTRUMENTS, LEDGER_SOURCE_IDS } from "./ledgerNames.ts";

type AccountShare = Required<Share>;

/** The newest share that each of the accounts has had of each job in a market, before an instant of the job's own. */
export async function readLastShares(
  pool: pg.Pool,
  { source, accounts: names }: { source: LedgerSource; accounts: readonly string[] },
  before: ReadonlyMap<string, Date>,
): Promise<(AccountShare & { job: string; slotAt: Date })[]> {
  const { rows } = await pool.query<Pick<typeof slots.$inferSelect, "job" | "slotAt"> & AccountShare>(
    `select w.job, newest.slot_at as "slotAt", a.name as account, d.instruments as due
     from unnest($1::text[], $2::timestamptz[]) as w (job, before)
     cross join accounts a
     cross join lateral (
       select slot_at, due_set_id from slots
       where slots.job = w.job and slots.source_id = $3 and slots.account_id = a.id and slots.slot_at < w.before
       order by slot_at desc limit 1
     ) newest
     join due_sets d on d.id = newest.due_set_id
     where a.name = any ($4)
     order by w.job, a.id`,
    [
      [...before.keys()],
      [...before.values()].map((at) => at.toISOString()),
      LEDGER_SOURCE_IDS[source],
      names,
    ],
  );
  return rows.map(({ slotAt, ...row }) => ({ ...row, slotAt: new Date(slotAt) }));
}

/** A window [from, to) of time. */
export type Window = { from: Date; to: Date };

/** A slot in the ledger: epoch ms, whether an account's own share of it is known, and what is due in those of others. */
type KnownSlot = { ms: number; own: boolean; others: readonly (readonly string[])[] };

/** The slots of a job in a market that have begun within a window, ascending, as an account sees them. */
export async function readSlotsWithin(
  pool: pg.Pool,
  { job, source, account }: { job: string; source: LedgerSource; account: string },
  { from, to }: Window,
): Promise<KnownSlot[]> {
  const { rows } = await pool.query<{ at: string; own: boolean; others: number[] }>(
    `select s.slot_at as at, bool_or(a.name = $3) as own,
            coalesce(array_agg(s.due_set_id) filter (where a.name <> $3), '{}') as others
     from (select job, source_id, slot_at, account_id, due_set_id from slots
           union all select job, source_id, slot_at, account_id, due_set_id from open_slots) s
     join accounts a on a.id = s.account_id
     where s.job = $1 and s.source_id = $2 and s.slot_at >= $4 and s.slot_at < $5
     group by s.slot_at order by s.slot_at`,
    [job, LEDGER_SOURCE_IDS[source], account, from.toISOString(), to.toISOString()],
  );
  const dueOf = await readDueSets(
    pool,
    rows.flatMap(({ others }) => others),
  );
  return rows.map(({ at, own, others }) => ({
    ms: new Date(at).getTime(),
    own,
    others: others.map((id) => dueOf.get(id) ?? []),
  }));
}

async function readDueSets(pool: pg.Pool, ids: readonly number[]): Promise<Map<number, readonly string[]>> {
  const { rows } = await pool.query<{ id: number; instruments: string[] }>(
    "select id, instruments from due_sets where id = any ($1)",
    [[...new Set(ids)]],
  );
  return new Map(rows.map(({ id, instruments }) => [id, instruments]));
}

/** A share of a slot that an earlier run left open. `endsAt` null: no other one comes. */
type OpenShare = AccountShare & { job: string; slotAt: Date; endsAt: Date | null };

/** The accounts' shares of slots in a market that other runs than this one have opened and never settled. */
export async function readLeftOpen(
  pool: pg.Pool,
  { source, accounts: names, run }: { source: LedgerSource; accounts: readonly string[]; run: string },
): Promise<OpenShare[]> {
  const { rows } = await pool.query<
    AccountShare & Record<"job" | "slotAt", string> & { endsAt: string | null }
  >(
    `select o.job, o.slot_at as "slotAt", o.ends_at as "endsAt", a.name as account, d.instruments as due
     from open_slots o join due_sets d on d.id = o.due_set_id join accounts a on a.id = o.account_id
     where o.source_id = $1 and o.run <> $2 and a.name = any ($3) order by o.slot_at, o.job, o.account_id`,
    [LEDGER_SOURCE_IDS[source], run, names],
  );
  return rows.map(({ slotAt, endsAt, ...row }) => ({
    ...row,
    slotAt: new Date(slotAt),
    endsAt: endsAt === null ? null : new Date(endsAt),
  }));
}

type LostShare = {
  job: string;
  account: string;
  slotAt: Date;
  /** When the account was first taken over from a collector that had died, since the slot began. */
  takenAt: Date | null;
  /** What was missed of it, and whether because nothing ran. */
  lost: { name: string; down: boolean }[];
};

/**
 * The shares of slots in a market that are settled, in which something was down or after whose beginning their account was
 * taken over from a collector that had died.
 *
 * @param since from when on slots of each job are looked at
 */
export async function readLostShares(
  pool: pg.Pool,
  since: ReadonlyMap<string, Date>,
  { source, to }: { source: LedgerSource; to: Date },
): Promise<LostShare[]> {
  const { rows } = await pool.query<{
    job: string;
    slotAt: string;
    account: string;
    takenAt: string | null;
    dueSetId: number;
    names: string[];
    down: boolean[];
  }>(
    `select s.job, s.slot_at as "slotAt", a.name as account, taken.at as "takenAt", s.due_set_id as "dueSetId", m.*
     from unnest($1::text[], $2::timestamptz[]) as w (job, since)
     join slots s on s.job = w.job and s.slot_at >= w.since and s.slot_at < $3 and s.source_id = $4 and s.missed > 0
     join accounts a on a.id = s.account_id
     cross join lateral (
       select min(taken_at) as at from lease_history h
       where h.account_id = s.account_id and h.how = 'expired' and h.taken_at >= s.slot_at
     ) taken
     cross join lateral (
       select array_agg(instrument order by instrument) as names, array_agg(reason = 'down' order by instrument) as down
       from misses m
       where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id and m.account_id = s.account_id
         and (m.reason = 'down' or taken.at is not null)
     ) m
     where m.names is not null and not exists (
       select from open_slots o
       where o.job = s.job and o.slot_at = s.slot_at and o.source_id = s.source_id and o.account_id = s.account_id
     )
     order by s.slot_at, s.job, s.account_id`,
    [
      [...since.keys()],
      [...since.values()].map((at) => at.toISOString()),
      to.toISOString(),
      LEDGER_SOURCE_IDS[source],
    ],
  );
  const starred = rows.flatMap(({ names, dueSetId }) => (names[0] === ALL_INSTRUMENTS ? [dueSetId] : []));
  const dueOf = await readDueSets(pool, starred);
  return rows.map(({ names, down, slotAt, takenAt, dueSetId, ...share }) => ({
    ...share,
    slotAt: new Date(slotAt),
    takenAt: takenAt === null ? null : new Date(takenAt),
    lost: names.flatMap((name, place) =>
      (name === ALL_INSTRUMENTS ? (dueOf.get(dueSetId) ?? []) : [name]).map((each) => ({
        name: each,
        down: down[place] === true,
      })),
    ),
  }));
}

/** How long before a window the slots that may last in it can have begun, in ms: as with fills, a day. */
const LONGEST_OPEN_MS = 86_400_000;

/** Whether a share of a slot is open that lasted within a window, in any market. */
export async function isAnyOpen(pool: pg.Pool, { from, to }: Window): Promise<boolean> {
  const { rowCount } = await pool.query("select from open_slots where slot_at between $1 and $2 limit 1", [
    new Date(+from - LONGEST_OPEN_MS).toISOString(),
    to.toISOString(),
  ]);
  return rowCount === 1;
}
