/** The table of accounts: what the operator wants of each, what its collector has said of it last, and who that is. No secrets. */
import { eq, sql } from "drizzle-orm";
import type pg from "pg";
import { QuotekeeperError } from "../errors.ts";
import { placeAccounts } from "./instruments.ts";
import { accounts, collectors } from "./schema.ts";
import { tablesOn } from "./tableRows.ts";
import { inTransaction } from "./transaction.ts";

/** An account as the database knows it. */
export type AccountRow = Omit<typeof accounts.$inferSelect, "id">;

/** What a collector says of an account of its own. */
export type KeptAccount = {
  name: string;
  callLimit: number;
  windowMs: number;
  state: NonNullable<AccountRow["state"]>;
};

/** All accounts that the archive has ever heard of, by name. */
export async function readAccountRows(pool: Pick<pg.Pool, "query">): Promise<AccountRow[]> {
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
      [
        ids,
        kept.map(({ callLimit }) => callLimit),
        kept.map(({ windowMs }) => windowMs),
        kept.map(({ state }) => state),
      ],
    );
    await client.query(
      "update accounts set state = 'gone' where name = any ($1::text[]) and id <> all ($2::smallint[])",
      [had, ids],
    );
    return ids;
  });
}

/** Keeps what the operator wants of an account; its collector does so from the next slot on. */
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

/** What an account does: what the operator has said holds at once, and what its collector has said last besides. */
export function accountState(row: AccountRow | undefined): "active" | "drained" | "refused" {
  if (row?.wanted === "drained") return "drained";
  return row?.state === "refused" ? "refused" : "active";
}

/** A collector as it was registered. */
type ForgottenCollector = Pick<typeof collectors.$inferSelect, "id" | "number" | "name">;

/** Told of by none for so long, a collector is away: it tells of itself every 2 s. */
const AWAY_AFTER = "10 s";

/**
 * Forgets a collector that will not come back: its number and its name are free. One that comes back nevertheless joins anew.
 *
 * @param named its name or its id
 * @throws QuotekeeperError COLLECTOR_UNKNOWN, COLLECTOR_ALIVE
 */
export async function forgetCollector(
  pool: Pick<pg.Pool, "query">,
  named: string,
): Promise<ForgottenCollector> {
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
