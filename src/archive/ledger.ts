/** The ledger's rows, loaded from the journal's notes in the same transaction as the quotes before them. */
import { createHash } from "node:crypto";
import type pg from "pg";
import type { DownNote, LedgerNote, LedgerSource, SlotEntry } from "../ledger.ts";

/**
 * Most rows that a downtime becomes in `misses`: beyond, each slot has one row for `*`, all that was due. A week down
 * with 500 instruments a minute would be a million rows that all say the same.
 */
export const MAX_DOWN_ROWS = 100_000;

/** Stands for all that was due at a slot. */
export const ALL_INSTRUMENTS = "*";

/** The numbers of the two sources that are polled; the first migration gives them. */
export const LEDGER_SOURCE_IDS: Readonly<Record<LedgerSource, number>> = { account: 1, simulated: 2 };

/** @returns how many slots were not there before */
export async function insertLedger(client: pg.ClientBase, notes: readonly LedgerNote[]): Promise<number> {
  const dueSets = new DueSets(client);
  let slots = 0;
  for (const note of notes) {
    const sourceId = LEDGER_SOURCE_IDS[note.source ?? "account"];
    if (note.type === "down") slots += await insertDown(client, note, sourceId, await dueSets.idOf(note.due));
    else
      for (const entry of note.entries)
        slots += await insertSlot(client, entry, sourceId, await dueSets.idOf(entry.due));
  }
  return slots;
}

/**
 * A slot that is there already was accounted for twice: by a run that ended in its midst, and by the one that began
 * then. What either of them stored is stored. Loading the same account again changes nothing.
 */
async function insertSlot(
  client: pg.ClientBase,
  { job, slotAt, due, misses }: SlotEntry,
  sourceId: number,
  dueSet: number,
): Promise<number> {
  const names = misses.map(([instrument]) => instrument);
  const reasons = misses.map(([, reason]) => reason);
  const { rowCount } = await client.query(
    `with fresh as (
       insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
       values ($1, $2, $8, $3::int, $3::int - $4::int, $4::int, $5)
       on conflict do nothing returning slot_at, source_id
     ), lost as (
       insert into misses (job, slot_at, source_id, instrument, reason)
       select $1, slot_at, source_id, name, reason from fresh cross join unnest($6::text[], $7::text[]) as m (name, reason)
       on conflict do nothing
     )
     select from fresh`,
    [job, slotAt, due.length, misses.length, dueSet, names, reasons, sourceId],
  );
  if (rowCount === 0) await mergeSlot(client, { job, slotAt, sourceId, names, dueSet });
  return rowCount ?? 0;
}

/** Takes back the misses that another account of the same slot, with the same due, does not have. */
async function mergeSlot(
  client: pg.ClientBase,
  {
    job,
    slotAt,
    sourceId,
    names,
    dueSet,
  }: { job: string; slotAt: string; sourceId: number; names: string[]; dueSet: number },
): Promise<void> {
  await client.query(
    `with found as (
       delete from misses m using slots s
       where s.job = $1 and s.slot_at = $2 and s.source_id = $6 and s.due_set_id = $3
         and m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id
         and m.instrument <> all ($4::text[]) and m.instrument <> $5
       returning 1
     )
     update slots set stored = stored + n, missed = missed - n
     from (select count(*)::int as n from found) counted
     where job = $1 and slot_at = $2 and source_id = $6 and n > 0`,
    [job, slotAt, dueSet, names, ALL_INSTRUMENTS, sourceId],
  );
}

async function insertDown(
  client: pg.ClientBase,
  { job, slots, due }: DownNote,
  sourceId: number,
  dueSet: number,
): Promise<number> {
  const names = slots.length * due.length > MAX_DOWN_ROWS ? [ALL_INSTRUMENTS] : due;
  const { rowCount } = await client.query(
    `with fresh as (
       insert into slots (job, slot_at, source_id, due, stored, missed, due_set_id)
       select $1, slot_at, $6, $3, 0, $3, $4 from unnest($2::timestamptz[]) as slot_at
       on conflict do nothing returning slot_at, source_id
     ), lost as (
       insert into misses (job, slot_at, source_id, instrument, reason)
       select $1, slot_at, source_id, name, 'down' from fresh cross join unnest($5::text[]) as name
       on conflict do nothing
     )
     select from fresh`,
    [job, slots, due.length, dueSet, names, sourceId],
  );
  return rowCount ?? 0;
}

/** Numbers of the sets of instruments that were due; each is looked up once. */
class DueSets {
  readonly #client: pg.ClientBase;
  readonly #known = new Map<string, number>();

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  /** @param due each name once */
  async idOf(due: readonly string[]): Promise<number> {
    const names = [...due].sort();
    const digest = createHash("sha256").update(names.join("\n")).digest("hex");
    const known = this.#known.get(digest);
    if (known !== undefined) return known;
    await this.#client.query(
      `insert into due_sets (digest, instruments) select $1, $2
       where not exists (select from due_sets where digest = $1) on conflict do nothing`,
      [digest, names],
    );
    const { rows } = await this.#client.query<{ id: number }>("select id from due_sets where digest = $1", [
      digest,
    ]);
    const id = rows[0]?.id ?? 0;
    this.#known.set(digest, id);
    return id;
  }
}

/** The newest slot of each job in a source, before an instant of the job's own, and what was due then. */
export async function readLastSlots(
  pool: pg.Pool,
  source: LedgerSource,
  before: ReadonlyMap<string, Date>,
): Promise<Map<string, { slotAt: Date; due: string[] }>> {
  const { rows } = await pool.query<{ job: string; slot_at: string; instruments: string[] }>(
    `select w.job, s.slot_at, d.instruments
     from unnest($1::text[], $2::timestamptz[]) as w (job, before)
     cross join lateral (
       select slot_at, due_set_id from slots
       where slots.job = w.job and slots.source_id = $3 and slots.slot_at < w.before order by slot_at desc limit 1
     ) s
     join due_sets d on d.id = s.due_set_id`,
    [[...before.keys()], [...before.values()].map((at) => at.toISOString()), LEDGER_SOURCE_IDS[source]],
  );
  return new Map(
    rows.map(({ job, slot_at, instruments }) => [job, { slotAt: new Date(slot_at), due: instruments }]),
  );
}

/** A window [from, to) of time. */
export type Window = { from: Date; to: Date };

/** The slots of a job in a source that lie within a window; epoch ms. */
export async function readSlotsWithin(
  pool: pg.Pool,
  { source, job }: { source: LedgerSource; job: string },
  { from, to }: Window,
): Promise<Set<number>> {
  const { rows } = await pool.query<{ slot_at: string }>(
    "select slot_at from slots where job = $1 and source_id = $2 and slot_at >= $3 and slot_at < $4",
    [job, LEDGER_SOURCE_IDS[source], from.toISOString(), to.toISOString()],
  );
  return new Set(rows.map(({ slot_at }) => new Date(slot_at).getTime()));
}

/**
 * Which of the instruments have a quote that arrived within each window: the account of a slot that was interrupted.
 * Windows without any are left out.
 *
 * @param windows ascending, without overlap
 * @returns names by the place of the window
 */
export async function readStoredWithin(
  pool: pg.Pool,
  windows: readonly Window[],
  {
    source,
    instruments,
    delayed,
  }: { source: LedgerSource; instruments: readonly string[]; delayed: boolean },
): Promise<Map<number, Set<string>>> {
  const hit = await windowsWithAnswers(pool, windows);
  if (hit.length === 0) return new Map();
  const { rows } = await pool.query<{ place: number; name: string }>(
    `with wanted as (
       select i.id, n.name
       from (select id, case when option_type is null then symbol else
                    symbol || ':' || expiration || ':' || option_type || ':' || trim_scale(strike) end as name
             from instruments where symbol = any ($5)) i
       join unnest($4::text[]) as n (name) on n.name = i.name
     )
     select distinct w.place, wanted.name
     from unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
     cross join wanted
     where exists (
       select from quotes q where q.instrument_id = wanted.id
       and q.observed_at >= w.since and q.observed_at < w.until and q.delayed = $6 and q.source_id = $7
     )`,
    [
      hit,
      hit.map((place) => windows[place]?.from.toISOString()),
      hit.map((place) => windows[place]?.to.toISOString()),
      instruments,
      [...new Set(instruments.map((name) => name.split(":")[0]))],
      delayed,
      LEDGER_SOURCE_IDS[source],
    ],
  );
  const stored = new Map<number, Set<string>>();
  for (const { place, name } of rows) stored.set(place, (stored.get(place) ?? new Set()).add(name));
  return stored;
}

/** Places of the windows in which any answer arrived. After a long downtime these are few of very many. */
async function windowsWithAnswers(pool: pg.Pool, windows: readonly Window[]): Promise<number[]> {
  const [first, last] = [windows[0], windows.at(-1)];
  if (!first || !last) return [];
  const { rows } = await pool.query<{ at: string }>(
    `select date_trunc('milliseconds', observed_at) as at from responses
     where observed_at >= $1 and observed_at < $2 and outcome = 'quotes' group by 1 order by 1`,
    [first.from.toISOString(), last.to.toISOString()],
  );
  const times = rows.map(({ at }) => new Date(at).getTime());
  let next = 0;
  return windows.flatMap(({ from, to }, place) => {
    while ((times[next] ?? Infinity) < from.getTime()) next += 1;
    return (times[next] ?? Infinity) < to.getTime() ? [place] : [];
  });
}
