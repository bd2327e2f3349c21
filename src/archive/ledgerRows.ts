/** The ledger's rows, loaded from the journal's notes in the same transaction as the quotes before them. */
import { createHash } from "node:crypto";
import type pg from "pg";
import type { Instant } from "../clock.ts";
import {
  type DownNote,
  type LedgerNote,
  type LedgerSource,
  mergeEntries,
  type MissReason,
  type OpenedNote,
  type SlotEntry,
} from "../journal/ledger.ts";
import { insertClockStep } from "./clockStepRows.ts";
import { INSTRUMENT_NAME } from "./instruments.ts";

/**
 * Most rows that a downtime becomes in `misses`: beyond, each slot has one row for `*`, all that was due. A week down
 * with 500 instruments a minute would be a million rows that all say the same.
 */
export const MAX_DOWN_ROWS = 100_000;

/** Stands for all that was due at a slot. */
export const ALL_INSTRUMENTS = "*";

/** The numbers of the two sources that are polled; the first migration gives them. */
export const LEDGER_SOURCE_IDS: Readonly<Record<LedgerSource, number>> = { account: 1, simulated: 2 };

/** How the name of a watchlist begins in the ledger. */
const WATCHLIST = "watchlist ";

/** @returns how many slots were not there before */
export async function insertLedger(client: pg.ClientBase, notes: readonly LedgerNote[]): Promise<number> {
  const dueSets = new DueSets(client);
  let slots = 0;
  for (const note of notes) {
    const sourceId = LEDGER_SOURCE_IDS[note.source ?? "account"];
    if (note.type === "clock") await insertClockStep(client, note);
    else if (note.type === "opened") await insertOpened(client, note, sourceId, await dueSets.idOf(note.due));
    else if (note.type === "down")
      slots += await insertDown(client, note, sourceId, await dueSets.idOf(note.due));
    else
      for (const entry of note.entries) {
        await closeSlot(client, entry, sourceId, note.run);
        slots += await insertSlot(client, entry, sourceId, dueSets);
      }
  }
  return slots;
}

async function insertOpened(
  client: pg.ClientBase,
  { job, slotAt, endsAt, run }: OpenedNote,
  sourceId: number,
  dueSet: number,
): Promise<void> {
  await client.query(
    `insert into open_slots (job, slot_at, source_id, ends_at, due_set_id, run) values ($1, $2, $3, $4, $5, $6)
     on conflict (job, slot_at, source_id) do update
     set ends_at = excluded.ends_at, due_set_id = excluded.due_set_id, run = excluded.run`,
    [job, slotAt, sourceId, endsAt, dueSet, run],
  );
}

/** A run's first slots are opened before its first answer has told which market it is that answers. */
async function closeSlot(
  client: pg.ClientBase,
  { job, slotAt }: SlotEntry,
  sourceId: number,
  run: string | undefined,
): Promise<void> {
  await client.query(
    "delete from open_slots where job = $1 and slot_at = $2 and (source_id = $3 or run = $4::uuid)",
    [job, slotAt, sourceId, run ?? null],
  );
}

/**
 * A slot that is there already was accounted for twice: the two become one account (`mergeEntries`). Loading the same
 * account again changes nothing.
 */
async function insertSlot(
  client: pg.ClientBase,
  entry: SlotEntry,
  sourceId: number,
  dueSets: DueSets,
): Promise<number> {
  const key = [entry.job, entry.slotAt, sourceId];
  if (await insertFresh(client, entry, sourceId, await dueSets.idOf(entry.due))) return 1;
  const known = await readEntry(client, entry, sourceId);
  const merged = mergeEntries(known, withoutStar(entry));
  if (isSameAccount(known, merged)) return 0;
  await client.query("delete from misses where job = $1 and slot_at = $2 and source_id = $3", key);
  await client.query("delete from slots where job = $1 and slot_at = $2 and source_id = $3", key);
  await insertFresh(client, merged, sourceId, await dueSets.idOf(merged.due));
  return 0;
}

/** @returns whether the slot was not there */
async function insertFresh(
  client: pg.ClientBase,
  { job, slotAt, due, misses }: SlotEntry,
  sourceId: number,
  dueSet: number,
): Promise<boolean> {
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
  return rowCount === 1;
}

async function readEntry(
  client: pg.ClientBase,
  { job, slotAt }: Pick<SlotEntry, "job" | "slotAt">,
  sourceId: number,
): Promise<SlotEntry> {
  const { rows } = await client.query<{
    due: string[];
    missed: string[] | null;
    reasons: MissReason[] | null;
  }>(
    `select d.instruments as due, m.missed, m.reasons
     from slots s join due_sets d on d.id = s.due_set_id
     cross join lateral (
       select array_agg(instrument) as missed, array_agg(reason) as reasons
       from misses m where m.job = s.job and m.slot_at = s.slot_at and m.source_id = s.source_id
     ) m
     where s.job = $1 and s.slot_at = $2 and s.source_id = $3
     for update of s`,
    [job, slotAt, sourceId],
  );
  const { due = [], missed, reasons } = rows[0] ?? {};
  const misses = (missed ?? []).map((name, place): [string, MissReason] => [
    name,
    reasons?.[place] ?? "down",
  ]);
  return withoutStar({ job, slotAt, due, misses });
}

/** The same account with a miss for each name that a star stands for. */
function withoutStar(entry: SlotEntry): SlotEntry {
  const misses = entry.misses.flatMap(([name, reason]): SlotEntry["misses"] =>
    (name === ALL_INSTRUMENTS ? entry.due : [name]).map((each) => [each, reason]),
  );
  return { ...entry, misses };
}

function isSameAccount(a: SlotEntry, b: SlotEntry): boolean {
  const text = ({ misses }: SlotEntry): string =>
    misses
      .map((miss) => miss.join(" "))
      .sort()
      .join("\n");
  return a.due.length === b.due.length && text(a) === text(b);
}

/** A slot's account, and until when answers could count for it. */
export type SettledSlot = { source: LedgerSource; entry: SlotEntry; settledAt: Instant };

/**
 * Rows that the database refused were stored as far as the collector knew. They are missed at the slots in whose time
 * they came, as `malformed`, unless the instrument has another quote of that time.
 */
export async function missRefused(client: pg.ClientBase, settled: readonly SettledSlot[]): Promise<void> {
  if (settled.length === 0) return;
  const [since] = settled.map(({ entry }) => entry.slotAt).sort();
  const until = settled
    .map(({ settledAt }) => settledAt)
    .sort()
    .at(-1);
  const { rows: letters } = await client.query<{ refused: boolean }>(
    `select true as refused from dead_letters
     where reason = 'refused_by_database' and observed_at between $1 and $2 limit 1`,
    [since, until],
  );
  if (letters.length === 0) return;
  await client.query(
    `with named as (
       select i.id, ${INSTRUMENT_NAME} as name from instruments i
     ), lost as (
       select distinct s.job, s.slot_at, s.source_id, l.instrument
       from unnest($1::text[], $2::timestamptz[], $3::smallint[], $4::timestamptz[]) as e (job, slot_at, source_id, settled_at)
       join slots s on s.job = e.job and s.slot_at = e.slot_at and s.source_id = e.source_id
       join due_sets d on d.id = s.due_set_id
       join dead_letters l on l.reason = 'refused_by_database' and l.source_id = s.source_id
         and l.observed_at between e.slot_at and e.settled_at and l.instrument = any (d.instruments)
       where not exists (
         select from named join quotes q on q.instrument_id = named.id
         where named.name = l.instrument and q.source_id = s.source_id and q.observed_at between e.slot_at and e.settled_at)
       union
       select s.job, s.slot_at, s.source_id, w.name
       from unnest($1::text[], $2::timestamptz[], $3::smallint[], $4::timestamptz[]) as e (job, slot_at, source_id, settled_at)
       join slots s on s.job = e.job and s.slot_at = e.slot_at and s.source_id = e.source_id
       join due_sets d on d.id = s.due_set_id
       cross join lateral (
         select $5 || (r.request ->> 'watchlist') as name
         from responses r
         left join lateral (
           select true as some from quotes q where q.observed_at = r.observed_at and q.source_id = r.source_id limit 1
         ) q on true
         where r.source_id = s.source_id and r.observed_at between e.slot_at and e.settled_at
           and r.request ->> 'form' = 'watchlist' and r.outcome = 'quotes'
         group by 1 having bool_and(q.some is null)
       ) w
       where w.name = any (d.instruments)
     ), noted as (
       insert into misses (job, slot_at, source_id, instrument, reason)
       select job, slot_at, source_id, instrument, 'malformed' from lost
       on conflict do nothing returning job, slot_at, source_id
     )
     update slots set stored = stored - n, missed = missed + n
     from (select job, slot_at, source_id, count(*)::int as n from noted group by 1, 2, 3) counted
     where slots.job = counted.job and slots.slot_at = counted.slot_at and slots.source_id = counted.source_id`,
    [
      settled.map(({ entry }) => entry.job),
      settled.map(({ entry }) => entry.slotAt),
      settled.map(({ source }) => LEDGER_SOURCE_IDS[source]),
      settled.map(({ settledAt }) => settledAt),
      WATCHLIST,
    ],
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
    const { rows } = await this.#client.query<{ id: number; damaged: boolean }>(
      "select id, instruments is distinct from $2 as damaged from due_sets where digest = $1",
      [digest, names],
    );
    const { id, damaged } = rows[0] ?? { id: 0, damaged: false };
    // Somebody has changed it by hand: its digest says what it was.
    if (damaged) await this.#client.query("update due_sets set instruments = $2 where id = $1", [id, names]);
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

/** A slot that an earlier run left open. `endsAt` null: no other one comes. */
export type LeftOpen = { job: string; slotAt: Date; endsAt: Date | null; due: string[] };

/** The slots that other runs than this one have opened and never settled. */
export async function readLeftOpen(pool: pg.Pool, source: LedgerSource, run: string): Promise<LeftOpen[]> {
  const { rows } = await pool.query<{ job: string; slot_at: string; ends_at: string | null; due: string[] }>(
    `select job, slot_at, ends_at, instruments as due from open_slots o join due_sets d on d.id = o.due_set_id
     where source_id = $1 and run <> $2 order by slot_at, job`,
    [LEDGER_SOURCE_IDS[source], run],
  );
  return rows.map(({ job, slot_at, ends_at, due }) => ({
    ...{ job, due, slotAt: new Date(slot_at) },
    endsAt: ends_at === null ? null : new Date(ends_at),
  }));
}

/** Assumed: an answer arrives at most this long after it was asked for, in ms: three times the longest wait for one. */
const LATEST_ANSWER_MS = 60_000;

/**
 * How much later than it was asked for an answer of these windows may bear its time, in s: `observed_at` never goes back
 * with a clock that is set back.
 */
async function readLatestAnswer(pool: pg.Pool, windows: readonly Window[]): Promise<number> {
  const [first, last] = [windows[0], windows.at(-1)];
  const { rows } = await pool.query<{ ms: string }>(
    `select coalesce(sum(-step_ms), 0) as ms from clock_steps
     where kind = 'set_back' and moved_at >= $1::timestamptz - interval '1 day' and moved_at < $2`,
    [first?.from.toISOString(), last?.to.toISOString()],
  );
  return (LATEST_ANSWER_MS + Number(rows[0]?.ms ?? 0)) / 1_000;
}

/** Names of the instruments whose quotes are wanted, and how. */
export type WantedQuotes = { source: LedgerSource; instruments: readonly string[]; delayed: boolean };

/**
 * Which of the instruments have a quote that was asked for within each window: the account of a slot that was
 * interrupted. Windows without any are left out.
 *
 * @param windows ascending, without overlap
 * @returns names by the place of the window
 */
export async function readStoredWithin(
  pool: pg.Pool,
  windows: readonly Window[],
  wanted: WantedQuotes,
): Promise<Map<number, Set<string>>> {
  const stored = new Map<number, Set<string>>();
  if (windows.length === 0) return stored;
  const latest = await readLatestAnswer(pool, windows);
  const hit = await windowsWithAnswers(pool, windows, latest);
  if (hit.length === 0) return stored;
  const spans = [
    hit,
    hit.map((place) => windows[place]?.from.toISOString()),
    hit.map((place) => windows[place]?.to.toISOString()),
  ];
  const { rows: quoted } = await pool.query<{ place: number; name: string }>(
    `with wanted as (
       select i.id, n.name
       from (select i.id, ${INSTRUMENT_NAME} as name from instruments i where i.symbol = any ($5)) i
       join unnest($4::text[]) as n (name) on n.name = i.name
     )
     select distinct w.place, wanted.name
     from unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
     cross join wanted
     where exists (
       select from quotes q join responses r on r.observed_at = q.observed_at and r.source_id = q.source_id
       where q.instrument_id = wanted.id and q.delayed = $6 and q.source_id = $7
       and q.observed_at >= w.since and q.observed_at < w.until + make_interval(secs => $8)
       and r.requested_at >= w.since and r.requested_at < w.until
     )`,
    [
      ...spans,
      wanted.instruments,
      [...new Set(wanted.instruments.map((name) => name.split(":")[0]))],
      ...[wanted.delayed, LEDGER_SOURCE_IDS[wanted.source], latest],
    ],
  );
  const watchlists = wanted.instruments.filter((name) => name.startsWith(WATCHLIST));
  const { rows: listed } =
    watchlists.length === 0
      ? { rows: [] }
      : await pool.query<{ place: number; name: string }>(
          `select distinct w.place, n.name
           from unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
           cross join unnest($4::text[]) as n (name)
           join responses r on r.observed_at >= w.since and r.observed_at < w.until + make_interval(secs => $7)
             and r.requested_at >= w.since and r.requested_at < w.until and r.source_id = $6
             and r.request ->> 'form' = 'watchlist' and $8 || (r.request ->> 'watchlist') = n.name
             and (r.request ->> 'delayed')::boolean = $5
           where exists (select from quotes q where q.observed_at = r.observed_at and q.source_id = r.source_id)`,
          [...spans, watchlists, ...[wanted.delayed, LEDGER_SOURCE_IDS[wanted.source], latest, WATCHLIST]],
        );
  for (const { place, name } of [...quoted, ...listed])
    stored.set(place, (stored.get(place) ?? new Set()).add(name));
  return stored;
}

/** Places of the windows in which anything was asked that was answered. After a long downtime these are few of very many. */
async function windowsWithAnswers(
  pool: pg.Pool,
  windows: readonly Window[],
  latest: number,
): Promise<number[]> {
  const [first, last] = [windows[0], windows.at(-1)];
  if (!first || !last) return [];
  const { rows } = await pool.query<{ at: string }>(
    `select date_trunc('milliseconds', requested_at) as at from responses
     where observed_at >= $1 and observed_at < $2::timestamptz + make_interval(secs => $3)
     and requested_at >= $1 and requested_at < $2 and outcome = 'quotes' group by 1 order by 1`,
    [first.from.toISOString(), last.to.toISOString(), latest],
  );
  const times = rows.map(({ at }) => new Date(at).getTime());
  let next = 0;
  return windows.flatMap(({ from, to }, place) => {
    while ((times[next] ?? Infinity) < from.getTime()) next += 1;
    return (times[next] ?? Infinity) < to.getTime() ? [place] : [];
  });
}
