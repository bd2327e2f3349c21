/** The ledger's rows, loaded from the journal's notes in the same transaction as the quotes before them. */
import { createHash } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import type pg from "pg";
import {
  type DownNote,
  isOnceName,
  type LedgerNote,
  mergeEntries,
  type MissReason,
  type SlotEntry,
  type Share,
  sharesIn,
} from "../../journal/ledger.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { placeAccounts } from "./accountRows.ts";
import { ALL_INSTRUMENTS, LEDGER_SOURCE_IDS } from "./ledgerNames.ts";
import { clockSteps, dueSets, misses, slots } from "../schema/schema.ts";
import { openSlots } from "../schema/internalSchema.ts";
import { columnList, insertAll, tablesOn, upsertAll } from "../schema/tableRows.ts";

/**
 * Most rows that a downtime becomes in `misses`: beyond, each slot has one row for `*`, all that was due. A week down
 * with 500 instruments a minute would be a million rows that all say the same.
 */
const MAX_DOWN_ROWS = 100_000;

/** @returns how many shares of slots were not there before */
export async function insertLedger(client: pg.ClientBase, notes: readonly LedgerNote[]): Promise<number> {
  const ledger = new LedgerRows(client);
  let slots = 0;
  for (const note of notes) slots += await ledger.insert(note, LEDGER_SOURCE_IDS[note.source ?? "account"]);
  return slots;
}

type ShareKey = Pick<typeof slots.$inferSelect, "job" | "slotAt" | "sourceId" | "accountId">;

/** Writes notes within a transaction of the caller's; numbers of accounts and of sets of instruments are looked up once. */
class LedgerRows {
  readonly #client: pg.ClientBase;
  readonly #tables: ReturnType<typeof tablesOn>;
  readonly #dueSets = new Map<string, number>();
  readonly #accounts = new Map<string, number>();

  constructor(client: pg.ClientBase) {
    this.#client = client;
    this.#tables = tablesOn(client);
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
        await this.#close(key, note.run ?? null);
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
        // Everything due in this share has moved to another account: nothing here will be settled.
        if (share.due.length === 0) await this.#close(key, run);
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
    for (const table of ["misses", "slots"])
      await this.#client.query(`delete from ${table} s where ${IS_SHARE}`, valuesOf(key));
    await this.#insertFresh(merged, key);
    return 0;
  }

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
    const slot = await this.#client.query<{ due: string[] }>(
      `select d.instruments as due from slots s join due_sets d on d.id = s.due_set_id where ${IS_SHARE} for update of s`,
      valuesOf(key),
    );
    // Another statement: it sees what whoever held the lock has committed.
    const lost = await this.#client.query<{ instrument: string; reason: MissReason }>(
      `select instrument, reason from misses s where ${IS_SHARE}`,
      valuesOf(key),
    );
    const { job, slotAt } = key;
    return withoutStar({
      job,
      slotAt,
      due: slot.rows[0]?.due ?? [],
      misses: lost.rows.map(({ instrument, reason }) => [instrument, reason]),
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

  /** Closes a share of a slot. A run's first ones are opened before its first answer has told which market it is that answers. */
  async #close(key: ShareKey, run: string | null): Promise<void> {
    await this.#client.query({
      name: "close slot",
      text: "delete from open_slots where job = $1 and slot_at = $2 and account_id = $4 and (source_id = $3 or run = $5)",
      values: [...valuesOf(key), run],
    });
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

const valuesOf = ({ job, slotAt, sourceId, accountId }: ShareKey) => [job, slotAt, sourceId, accountId];

/** Whether a row `s` is of the share that `valuesOf` gives. */
const IS_SHARE = "s.job = $1 and s.slot_at = $2 and s.source_id = $3 and s.account_id = $4";

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
