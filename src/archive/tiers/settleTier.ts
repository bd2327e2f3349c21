/** Brings a migrated database to the tier that its server offers. */
import type pg from "pg";
import { QuotekeeperError } from "../../ground/errors.ts";
import { transactionOn } from "../connect/transaction.ts";
import { moveToCitus, settleCitus } from "./citus/door.ts";
import { settleCommunity } from "./community.ts";
import { holdsNothing, moveToHypertables } from "./hypertables.ts";
import { readTier, type Tier } from "./tier.ts";

/** What the operator wants of the storage besides what is found. */
export type StorageWishes = {
  /** true: a database that holds rows is moved to TimescaleDB too; undefined: an empty one alone; false: none is. */
  toTimescaledb?: boolean;
  /** true: the database is moved to Citus, rows or none. */
  toCitus?: boolean;
  /** Days of quotes to keep; null: all; undefined: as it was. Community alone drops any. */
  retentionDays?: number | null;
};

/** CREATE EXTENSION is not ours to do. PostgreSQL Appendix A. */
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * @param client holds the migration lock
 * @param texts of views and functions (`migrations/repeat/`), which are in force
 * @throws QuotekeeperError DATABASE_REFUSED when a move is wanted and the server has nothing to move to
 */
export async function settleTier(client: pg.ClientBase, wishes: StorageWishes, texts: string): Promise<void> {
  const tier = await readTier(client);
  if (tier.name === "citus" || wishes.toCitus) {
    await moveOnceToCitus(client, tier, wishes);
    return settleCitus(client, texts);
  }
  if (wishes.toTimescaledb && tier.name === "plain" && !tier.canMove)
    throw new QuotekeeperError(
      "DATABASE_REFUSED",
      `PostgreSQL ${tier.postgres} here has no TimescaleDB loaded (shared_preload_libraries)`,
    );
  const { toTimescaledb = tier.canMove && (await holdsNothing(client)) } = wishes;
  if (tier.canMove && toTimescaledb) await move(client, wishes);
  if ((await readTier(client)).name === "community")
    await transactionOn(client, () => settleCommunity(client, wishes.retentionDays));
}

async function move(client: pg.ClientBase, { toTimescaledb = false }: StorageWishes): Promise<void> {
  try {
    await transactionOn(client, async () => {
      await client.query("create extension if not exists timescaledb");
      await moveToHypertables(client);
    });
  } catch (error) {
    // Nobody asked for the move: an archive whose user may not add extensions stays plain.
    if (toTimescaledb || (error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
  }
}

async function moveOnceToCitus(
  client: pg.ClientBase,
  tier: Tier,
  { toTimescaledb }: StorageWishes,
): Promise<void> {
  if (toTimescaledb)
    throw new QuotekeeperError(
      "DATABASE_REFUSED",
      "the archive is on Citus or is to be: TimescaleDB cannot be there as well",
    );
  if (tier.name === "apache" || tier.name === "community")
    throw new QuotekeeperError(
      "DATABASE_REFUSED",
      "the archive is on TimescaleDB, from which there is no move to Citus: load the journal into another database",
    );
  if (tier.name === "plain") await moveToCitus(client);
}
