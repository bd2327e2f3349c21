/** The table of accounts: what the operator wants of each, what its collector has said of it last, and who that is. No secrets. */
import { eq, sql } from "drizzle-orm";
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { DEFAULT_ACCOUNT } from "../../journal/record.ts";
import { accounts } from "../schema/schema.ts";
import { collectors } from "../schema/internalSchema.ts";
import { clean, columnList, inArrays, tablesOn } from "../schema/tableRows.ts";
import { ADDING_LOCK, inTransaction, type Queryable } from "../connect/transaction.ts";

export type AccountRow = Omit<typeof accounts.$inferSelect, "id">;

export type KeptAccount = {
  name: string;
  callLimit: number;
  windowMs: number;
  state: NonNullable<AccountRow["state"]>;
};

export async function readAccountRows(pool: Queryable): Promise<AccountRow[]> {
  const { name, callLimit, windowMs, wanted, state } = accounts;
  return tablesOn(pool).select({ name, callLimit, windowMs, wanted, state }).from(accounts).orderBy(name);
}

/**
 * Keeps what a collector says of all its accounts; of those that it had and no longer has, that they are gone. Others may be
 * those of another collector.
 *
 * @param had names of those that it has told of before
 * @returns their numbers, in the same order
 */
export async function keepAccounts(
  pool: pg.Pool,
  kept: readonly KeptAccount[],
  had: readonly string[] = [],
): Promise<number[]> {
  return inTransaction(pool, async (client) => {
    const ids = await placeAccounts(
      client,
      kept.map(({ name }) => name),
    );
    await client.query(
      `update accounts a set call_limit = k.call_limit, window_ms = k.window_ms, state = k.state
       from unnest($1::smallint[], $2::int[], $3::int[], $4::text[]) as k (id, call_limit, window_ms, state)
       where a.id = k.id`,
      [ids, ...inArrays(kept, "callLimit", "windowMs", "state")],
    );
    await client.query(
      "update accounts set state = 'gone' where name = any ($1::text[]) and id <> all ($2::smallint[])",
      [had, ids],
    );
    return ids;
  });
}

/** Persists what the operator wants of an account; its collector follows from the next slot on. */
export async function wantAccount(
  pool: pg.Pool,
  name: string,
  wanted: NonNullable<AccountRow["wanted"]>,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const [id] = await placeAccounts(client, [name]);
    await tablesOn(client)
      .update(accounts)
      .set({ wanted })
      .where(eq(accounts.id, id ?? 0));
  });
}

/** The state of an account: what the operator wants counts at once, else what its collector said last. */
export function accountState(row: AccountRow | undefined): "active" | "drained" | "refused" {
  if (row?.wanted === "drained") return "drained";
  return row?.state === "refused" ? "refused" : "active";
}

type ForgottenCollector = Pick<typeof collectors.$inferSelect, "id" | "number" | "name">;

/** A collector that was silent for so long is away: it writes every 2 s. */
const AWAY_AFTER = "10 s";

/**
 * Forgets a collector that will not come back: its number and its name are free. One that comes back nevertheless joins anew.
 *
 * @param named its name or its id
 * @throws QuotekeeperError COLLECTOR_UNKNOWN, COLLECTOR_ALIVE
 */
export async function forgetCollector(pool: Queryable, named: string): Promise<ForgottenCollector> {
  const db = tablesOn(pool);
  const { id, number, name, stopped, seenAt } = collectors;
  const isNamed = sql`(${name} = ${named} or ${id}::text = lower(${named}))`;
  const isAlive = sql`(not ${stopped} and ${seenAt} between clock_timestamp() - ${AWAY_AFTER}::interval and clock_timestamp())`;
  const [forgotten] = await db
    .delete(collectors)
    .where(sql`${isNamed} and not ${isAlive}`)
    .returning({ id, number, name });
  if (forgotten) return forgotten;
  const there = await db
    .select({ name, isNamed: sql<boolean>`${isNamed}` })
    .from(collectors)
    .orderBy(number);
  const alive = there.find((one) => one.isNamed);
  if (alive)
    throw new QuotekeeperError(
      "COLLECTOR_ALIVE",
      `${alive.name} has told of itself in the last ${AWAY_AFTER}`,
    );
  const names = there.map((one) => one.name).join(", ");
  throw new QuotekeeperError(
    "COLLECTOR_UNKNOWN",
    names === "" ? `no collector has joined, and no ${named}` : `${named} is no collector of ${names}`,
  );
}

/** The number of `DEFAULT_ACCOUNT`; the migration gives it. */
const DEFAULT_ACCOUNT_ID = 1;

/** Numbers of accounts by name; a new one gets the lowest that is free. */
export async function placeAccounts(client: pg.ClientBase, wanted: readonly string[]): Promise<number[]> {
  if (wanted.every((name) => name === DEFAULT_ACCOUNT)) return wanted.map(() => DEFAULT_ACCOUNT_ID);
  const names = wanted.map(clean);
  const find = async (): Promise<(number | null)[]> => {
    const { rows } = await client.query<{ id: number | null }>(
      `select a.id from unnest($1::text[]) with ordinality as w (name, place)
       left join accounts a on a.name = w.name order by w.place`,
      [names],
    );
    return rows.map(({ id }) => id);
  };
  let ids = await find();
  if (ids.includes(null)) {
    await client.query(ADDING_LOCK);
    await client.query(
      `insert into accounts (${columnList(accounts, "id", "name")})
       select free.id, w.name
       from (select name, row_number() over (order by name) as place from unnest($1::text[]) as given (name)
             where not exists (select from accounts a where a.name = given.name) group by name) w
       join (select n as id, row_number() over (order by n) as place from generate_series(2, 32767) as n
             where not exists (select from accounts a where a.id = n)) free using (place)`,
      [names],
    );
    ids = await find();
  }
  return ids.map((id, place) => {
    if (id !== null) return id;
    throw new QuotekeeperError("UNEXPECTED", `no number is free for the account ${names[place]}`);
  });
}
