/** The ledger's rows, loaded from the journal's notes in the same transaction as the quotes before them. */
import { createHash } from "node:crypto";
import { and, between, eq, inArray, ne, or, sql, type SQL } from "drizzle-orm";
import type pg from "pg";
import { type Instant, instantFromDate } from "../../clock.ts";
import {
  type DownNote,
  isOnceName,
  type LedgerNote,
  type LedgerSource,
  mergeEntries,
  type SlotEntry,
  type Share,
  sharesIn,
} from "../../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { SIMULATED_SOURCE } from "../connect/fixedNames.ts";
import { inTransaction } from "../connect/transaction.ts";
import { isNamed } from "../schema/instrumentNames.ts";
import { placeAccounts } from "./accountRows.ts";
import { accounts, clockSteps, deadLetters, dueSets, misses, slots } from "../schema/schema.ts";
import { openSlots } from "../schema/internalSchema.ts";
import { type Wanted, withNear } from "../tiers/citus/door.ts";
import { clean, columnList, insertAll, tablesOn, upsertAll } from "../schema/tableRows.ts";

/**
 * Most rows that a downtime becomes in `misses`: beyond, each slot has one row for `*`, all that was due. A week down
 * with 500 instruments a minute would be a million rows that all say the same.
 */
const MAX_DOWN_ROWS = 100_000;

/** Stands for all that was due at a slot. */
const ALL_INSTRUMENTS = "*";

/**
 * The numbers of the two markets that are polled, as the ledger has them; the first migration gives them. They are those of the
 * specification's service and of the simulated one; an account's slots have the first whatever service it is of.
 */
export const LEDGER_SOURCE_IDS: Readonly<Record<LedgerSource, number>> = {
  account: 1,
  simulated: SIMULATED_SOURCE,
};

/**
 * SQL: whether rows of a source are of the market that a number of the ledger stands for: those of each service are of an account.
 *
 * @param source column of the rows
 * @param market column or parameter with the ledger's number
 */
const isOfMarket = (source: string, market: string): string =>
  `${source} in (select id from sources where kind = (select kind from sources where id = ${market}))`;

/** How the name of a watchlist begins in the ledger, and that of a whole chain. */
const WATCHLIST = "watchlist ";
const CHAIN = "chain ";

/** Whether a name of the ledger is a watchlist's: each account has its own of that name. */
export const isWatchlist = (name: string): boolean => name.startsWith(WATCHLIST);

/** The name in the ledger of what an answer of many instruments was asked for, null of other answers: see `describeCall`. */
const NAME_OF_ONE = `case r.request ->> 'form'
  when 'watchlist' then '${WATCHLIST}' || (r.request ->> 'watchlist')
  when 'chain' then '${CHAIN}' || regexp_replace(r.request ->> 'underlying', '^([^/]+)/([A-Za-z])$', '\\1.\\2') || ':'
    || (r.request ->> 'expiration') end`;

/** @returns how many shares of slots were not there before */
export async function insertLedger(client: pg.ClientBase, notes: readonly LedgerNote[]): Promise<number> {
  const ledger = new LedgerRows(client);
  let slots = 0;
  for (const note of notes) slots += await ledger.insert(note, LEDGER_SOURCE_IDS[note.source ?? "account"]);
  return slots;
}

/** An account's share of a slot, by its key in the tables. */
type ShareKey = Pick<typeof slots.$inferSelect, "job" | "slotAt" | "sourceId" | "accountId">;

/** Writes notes within a transaction of the caller's; numbers of accounts and of sets of instruments are looked up once. */
class LedgerRows {
  readonly #client: pg.ClientBase;
  readonly #tables: ReturnType<typeof tablesOn>;
  readonly #closing: ReturnType<typeof closingSlot>;
  readonly #dueSets = new Map<string, number>();
  readonly #accounts = new Map<string, number>();

  constructor(client: pg.ClientBase) {
    this.#client = client;
    this.#tables = tablesOn(client);
    this.#closing = closingSlot(this.#tables);
  }

  /**
   * Slots of one-off jobs stay in the journal. They come once, and a later answer does not fill their misses.
   *
   * @returns how many shares of slots were not there before
   */
  async insert(note: LedgerNote, sourceId: number): Promise<number> {
    if (note.type === "down") {
      let fresh = 0;
      for (const share of sharesIn(note)) fresh += await this.#insertDown(note, share, sourceId);
      return fresh;
    }
    if (note.type === "slots") {
      let fresh = 0;
      for (const entry of note.entries) {
        const { job, slotAt } = entry;
        if (isOnceName(job)) continue;
        const key = { job, slotAt, sourceId, accountId: await this.#accountOf(entry) };
        await this.#closing.execute({ ...key, run: note.run ?? null });
        fresh += await this.#insertShare(entry, key);
      }
      return fresh;
    }
    if (note.type === "clock")
      await insertAll(this.#client, clockSteps, [{ movedAt: note.at, stepMs: note.stepMs, kind: note.kind }]);
    else if (!isOnceName(note.job)) {
      const { job, slotAt, endsAt, run } = note;
      for (const share of sharesIn(note)) {
        const key = { job, slotAt, sourceId, accountId: await this.#accountOf(share) };
        // All that was due in it has become another account's: nothing of it will be settled.
        if (share.due.length === 0) await this.#closing.execute({ ...key, run });
        else {
          const dueSetId = await this.#dueSetOf(share.due);
          await upsertAll(this.#client, openSlots, [{ ...key, endsAt, dueSetId, run }]);
        }
      }
    }
    return 0;
  }

  /**
   * A share that is there already was told of twice: the two become one entry (`mergeEntries`). Loading the same entry
   * again changes nothing.
   */
  async #insertShare(entry: SlotEntry, key: ShareKey): Promise<number> {
    if (await this.#insertFresh(entry, key)) return 1;
    const known = await this.#readEntry(key);
    const merged = mergeEntries(known, withoutStar(entry));
    if (isSameEntry(known, merged)) return 0;
    await this.#tables.delete(misses).where(isOfSlot(misses, key));
    await this.#tables.delete(slots).where(isOfSlot(slots, key));
    await this.#insertFresh(merged, key);
    return 0;
  }

  /** @returns whether the share was not there */
  async #insertFresh({ due, misses: missed }: SlotEntry, key: ShareKey): Promise<boolean> {
    const counts = { due: due.length, stored: due.length - missed.length, missed: missed.length };
    const dueSetId = await this.#dueSetOf(due);
    if ((await insertAll(this.#client, slots, [{ ...key, ...counts, dueSetId }])) === 0) return false;
    if (missed.length > 0)
      // What all rows share travels once: at each slot's start this is done for thousands.
      await this.#client.query({
        name: "insert misses of slot",
        text: `insert into misses (${columnList(misses, "job", "slotAt", "sourceId", "accountId", "instrument", "reason")})
          select $1, $2, $3, $4, lost.* from unnest($5::text[], $6::text[]) as lost on conflict do nothing`,
        values: [
          key.job,
          key.slotAt,
          key.sourceId,
          key.accountId,
          missed.map(([name]) => name),
          missed.map(([, reason]) => reason),
        ],
      });
    return true;
  }

  async #readEntry(key: ShareKey): Promise<SlotEntry> {
    const [slot] = await this.#tables
      .select({ due: dueSets.instruments })
      .from(slots)
      .innerJoin(dueSets, eq(dueSets.id, slots.dueSetId))
      .where(isOfSlot(slots, key))
      .for("update", { of: slots });
    const lost = await this.#tables
      .select({ instrument: misses.instrument, reason: misses.reason })
      .from(misses)
      .where(isOfSlot(misses, key));
    const { job, slotAt } = key;
    return withoutStar({
      job,
      slotAt,
      due: slot?.due ?? [],
      misses: lost.map(({ instrument, reason }) => [instrument, reason]),
    });
  }

  /** A share that is there already stays as it is, but for names that it did not know of: as with any two entries. */
  async #insertDown({ job, slots: times }: DownNote, share: Share, sourceId: number): Promise<number> {
    const { due } = share;
    const [dueSetId, accountId] = [await this.#dueSetOf(due), await this.#accountOf(share)];
    const names = times.length * due.length > MAX_DOWN_ROWS ? [ALL_INSTRUMENTS] : due;
    const { rowCount } = await this.#client.query(
      `with fresh as (
         insert into slots (${columnList(slots, "job", "slotAt", "sourceId", "accountId", "due", "stored", "missed", "dueSetId")})
         select $1, slot_at, $6, $7, $3, 0, $3, $4 from unnest($2::timestamptz[]) as slot_at
         on conflict do nothing returning slot_at, source_id, account_id
       ), lost as (
         insert into misses (${columnList(misses, "job", "slotAt", "sourceId", "accountId", "instrument", "reason")})
         select $1, slot_at, source_id, account_id, name, 'down' from fresh cross join unnest($5::text[]) as name
         on conflict do nothing
       )
       select from fresh`,
      [job, times, due.length, dueSetId, names, sourceId, accountId],
    );
    if (rowCount === times.length) return times.length;
    const others = await this.#client.query<{ slotAt: string }>(
      `select s.slot_at as "slotAt" from slots s join due_sets d on d.id = s.due_set_id
       where (s.job, s.source_id, s.account_id) = ($1, $2, $3) and s.slot_at = any ($4) and s.due_set_id <> $5
       and not d.instruments @> $6`,
      [job, sourceId, accountId, times, dueSetId, due],
    );
    for (const { slotAt } of others.rows) {
      const entry: SlotEntry = { job, slotAt, due: [...due], misses: due.map((name) => [name, "down"]) };
      await this.#insertShare(entry, { job, slotAt, sourceId, accountId });
    }
    return rowCount ?? 0;
  }

  async #accountOf({ account = DEFAULT_ACCOUNT }: { account?: string }): Promise<number> {
    const id = this.#accounts.get(account) ?? (await placeAccounts(this.#client, [account]))[0] ?? 0;
    this.#accounts.set(account, id);
    return id;
  }

  /** The number of a set of instruments. @param due each name once */
  async #dueSetOf(due: readonly string[]): Promise<number> {
    const instruments = [...due].sort();
    const digest = createHash("sha256").update(instruments.join("\n")).digest("hex");
    const known = this.#dueSets.get(digest);
    if (known !== undefined) return known;
    const given = sql.param(instruments, dueSets.instruments);
    const find = this.#tables
      .select({ id: dueSets.id, damaged: sql<boolean>`${dueSets.instruments} is distinct from ${given}` })
      .from(dueSets)
      .where(eq(dueSets.digest, digest));
    let [found] = await find;
    if (found === undefined) {
      await this.#tables.insert(dueSets).values({ digest, instruments }).onConflictDoNothing();
      [found] = await find;
    }
    const { id, damaged } = found ?? { id: 0, damaged: false };
    // Somebody has changed it by hand: its digest says what it was.
    if (damaged) await this.#tables.update(dueSets).set({ instruments }).where(eq(dueSets.id, id));
    this.#dueSets.set(digest, id);
    return id;
  }
}

/** Closes a share of a slot. A run's first ones are opened before its first answer has told which market it is that answers. */
function closingSlot(tables: ReturnType<typeof tablesOn>) {
  const { job, slotAt, sourceId, accountId, run } = openSlots;
  const ofSourceOrRun = or(eq(sourceId, sql.placeholder("sourceId")), eq(run, sql.placeholder("run")));
  return tables
    .delete(openSlots)
    .where(
      and(
        eq(job, sql.placeholder("job")),
        eq(slotAt, sql.placeholder("slotAt")),
        eq(accountId, sql.placeholder("accountId")),
        ofSourceOrRun,
      ),
    )
    .prepare("close slot");
}

function isOfSlot(table: typeof slots | typeof misses, key: ShareKey): SQL | undefined {
  const { job, slotAt, sourceId, accountId } = key;
  return and(
    eq(table.job, job),
    eq(table.slotAt, slotAt),
    eq(table.sourceId, sourceId),
    eq(table.accountId, accountId),
  );
}

/** The same entry with a miss for each name that a star stands for. */
function withoutStar(entry: SlotEntry): SlotEntry {
  const misses = entry.misses.flatMap(([name, reason]): SlotEntry["misses"] =>
    (name === ALL_INSTRUMENTS ? entry.due : [name]).map((each) => [each, reason]),
  );
  return { ...entry, misses };
}

function isSameEntry(a: SlotEntry, b: SlotEntry): boolean {
  const text = ({ misses }: SlotEntry): string =>
    misses
      .map((miss) => miss.join(" "))
      .sort()
      .join("\n");
  return a.due.length === b.due.length && text(a) === text(b);
}

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

/** A share whose account is named. */
type AccountShare = Required<Share>;

/** The newest share that each of the accounts has had of each job in a market, before an instant of the job's own. */
export async function readLastShares(
  pool: pg.Pool,
  { source, accounts: names }: { source: LedgerSource; accounts: readonly string[] },
  before: ReadonlyMap<string, Date>,
): Promise<(AccountShare & { job: string; slotAt: Date })[]> {
  const { rows } = await pool.query<Pick<ShareKey, "job" | "slotAt"> & AccountShare>(
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
type Window = { from: Date; to: Date };

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
  const sets = await tablesOn(pool)
    .select()
    .from(dueSets)
    .where(inArray(dueSets.id, [...new Set(ids)]));
  return new Map(sets.map(({ id, instruments }) => [id, instruments]));
}

/** A share of a slot that an earlier run left open. `endsAt` null: no other one comes. */
type LeftOpen = AccountShare & { job: string; slotAt: Date; endsAt: Date | null };

/** The accounts' shares of slots in a market that other runs than this one have opened and never settled. */
export async function readLeftOpen(
  pool: pg.Pool,
  { source, accounts: names, run }: { source: LedgerSource; accounts: readonly string[]; run: string },
): Promise<LeftOpen[]> {
  const rows = await tablesOn(pool)
    .select({
      job: openSlots.job,
      slotAt: openSlots.slotAt,
      endsAt: openSlots.endsAt,
      account: accounts.name,
      due: dueSets.instruments,
    })
    .from(openSlots)
    .innerJoin(dueSets, eq(dueSets.id, openSlots.dueSetId))
    .innerJoin(accounts, eq(accounts.id, openSlots.accountId))
    .where(
      and(
        eq(openSlots.sourceId, LEDGER_SOURCE_IDS[source]),
        ne(openSlots.run, run),
        inArray(accounts.name, [...names]),
      ),
    )
    .orderBy(openSlots.slotAt, openSlots.job, openSlots.accountId);
  return rows.map(({ slotAt, endsAt, ...row }) => ({
    ...row,
    slotAt: new Date(slotAt),
    endsAt: endsAt === null ? null : new Date(endsAt),
  }));
}

/** A share of a slot with misses. */
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
  const first = new Date(+from - LONGEST_OPEN_MS);
  const within = between(openSlots.slotAt, instantFromDate(first), instantFromDate(to));
  return (await tablesOn(pool).select().from(openSlots).where(within).limit(1)).length > 0;
}

/** Assumed: an answer arrives at most this long after it was asked for, in ms: three times the longest wait for one. */
export const LATEST_ANSWER_MS = 60_000;

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

/** The instruments of an account's share whose quotes of a market are wanted, and how. */
type WantedQuotes = {
  source: LedgerSource;
  /** Default: `DEFAULT_ACCOUNT`. */
  account?: string;
  instruments: readonly string[];
  delayed: boolean;
};

/**
 * Which of the instruments have a quote that was asked for within each window: what a slot that was interrupted has.
 * Windows without any are left out. Whoever asked, it is stored, for an instrument may have moved to another account
 * meanwhile; a watchlist is its account's own, and another's of that name is not it.
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
  const sourceId = LEDGER_SOURCE_IDS[wanted.source];
  const asOne = wanted.instruments.filter((name) => isWatchlist(name) || name.startsWith(CHAIN));
  const read = async (client: pg.ClientBase): Promise<{ place: number; name: string }[]> => {
    const found = await client.query<{ place: number; name: string }>(QUOTED, [
      ...spans,
      wanted.instruments,
      wanted.delayed,
      sourceId,
      latest,
    ]);
    if (asOne.length === 0) return found.rows;
    const listed = await client.query<{ place: number; name: string }>(LISTED, [
      ...spans,
      asOne,
      wanted.delayed,
      sourceId,
      latest,
      wanted.account ?? DEFAULT_ACCOUNT,
    ]);
    return [...found.rows, ...listed.rows];
  };
  const rows = await inTransaction(pool, (client) =>
    withNear(
      client,
      () => [quotesWithin(spans.slice(1), sourceId, latest)],
      () => read(client),
    ),
  );
  for (const { place, name } of rows) stored.set(place, (stored.get(place) ?? new Set()).add(name));
  return stored;
}

const NAMED = `select i.id, n.name
       from unnest($4::text[]) as n (name)
       join instruments i on ${isNamed("n.name")}`;

const QUOTED = `with wanted as (
       ${NAMED}
     )
     select distinct w.place, wanted.name
     from unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
     cross join wanted
     where exists (
       select from quotes q join responses r on r.observed_at = q.observed_at and r.source_id = q.source_id
       where q.instrument_id = wanted.id and ${isOfMarket("q.source_id", "$6")}
       -- What was asked for counts: a service may answer with delayed quotes whatever that was.
       and coalesce((r.request ->> 'delayed')::boolean, q.delayed) = $5
       and q.observed_at >= w.since and q.observed_at < w.until + make_interval(secs => $7)
       and r.requested_at >= w.since and r.requested_at < w.until
     )`;

/** Answers of watchlists and whole chains, by the window and the name that they belong to. */
const LISTING = `unnest($1::int[], $2::timestamptz[], $3::timestamptz[]) as w (place, since, until)
    cross join unnest($4::text[]) as n (name)
    join responses r on r.observed_at >= w.since and r.observed_at < w.until + make_interval(secs => $7)
      and r.requested_at >= w.since and r.requested_at < w.until and ${isOfMarket("r.source_id", "$6")}
      and ${NAME_OF_ONE} = n.name and (r.request ->> 'delayed')::boolean = $5
      and (r.request ->> 'form' <> 'watchlist' or r.account_id = (select id from accounts where name = $8))`;

const LISTED = `select distinct w.place, n.name from ${LISTING}
  where exists (select from quotes q where q.observed_at = r.observed_at and q.source_id = r.source_id)`;

/** The quotes of a source that bear the times of answers of some windows. */
const quotesWithin = (windows: unknown[], sourceId: number, latest: number): Wanted => ({
  table: "quotes",
  rows: `join unnest($1::timestamptz[], $2::timestamptz[]) as w (since, until)
    on t.observed_at >= w.since and t.observed_at < w.until + make_interval(secs => $3)
    where ${isOfMarket("t.source_id", "$4")} on conflict do nothing`,
  values: [...windows, latest, sourceId],
});

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
