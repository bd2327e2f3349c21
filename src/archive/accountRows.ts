/** The table of accounts: what the operator wants of each, and what its collector has said of it last. No secrets. */
import { eq, inArray, sql } from "drizzle-orm";
import type pg from "pg";
import { placeAccounts } from "./instruments.ts";
import { accounts, accountHolders } from "./schema.ts";
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

/** Who collects what, by the keys of accounts. `owner` is `host:pid`, null when nobody does: then `fence` is the last one's. */
export async function readOwners(
  pool: Pick<pg.Pool, "query">,
  keys: readonly string[],
): Promise<Map<string, { owner: string | null; fence: number }>> {
  const { account, host, pid, fence, released, renewedAt } = accountHolders;
  const rows = await tablesOn(pool)
    .select({
      account,
      owner: sql<
        string | null
      >`case when not ${released} and ${renewedAt} > clock_timestamp() - ${GONE_AFTER}::interval
        then ${host} || ':' || ${pid} end`,
      fence: sql`${fence}`.mapWith(Number),
    })
    .from(accountHolders)
    .where(inArray(account, [...keys]));
  return new Map(rows.map(({ account, ...row }) => [account, row]));
}

/** A collector that has not renewed its lease for so long is away: it does so every 2 s. */
const GONE_AFTER = "10 s";
