/** Makes the bars of rows that were stored (migrations/repeat/20_bars.sql). */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import { IN_EACH_OTHERS_WAY, sqlstateOf } from "../connect/databaseError.ts";
import { mayBeOfARow } from "../connect/whoseFault.ts";
import { engineOf } from "../tiers/citus/door.ts";

/** Session bars that one transaction makes: a loader that wants to note rows of one of them waits for it. */
const AT_ONCE = 1_000;

/**
 * Makes all bars whose rows have changed, but for those that another transaction changes at the moment. Views add the rows that a bar
 * lacks: what hinders the bars (a row by which a sum grows out of its type) meets the next to make them, and no load ends for it.
 *
 * @throws the database's errors that are not about rows
 */
export async function makeDueBars(db: Queryable): Promise<void> {
  try {
    for (let made = AT_ONCE; made >= AT_ONCE;) {
      const { rows } = await db.query<{ made: number }>({
        name: "make due bars",
        text: "select make_due_bars($1) as made",
        values: [AT_ONCE],
      });
      made = rows[0]?.made ?? 0;
    }
  } catch (error) {
    if (!IN_EACH_OTHERS_WAY.has(sqlstateOf(error)) && !mayBeOfARow(error)) throw error;
  }
}

/** The same at the end of a backfill, which has made many bars due: several connections at once, each with bars of its own. */
export async function makeManyDueBars(pool: pg.Pool): Promise<void> {
  const { barMakers } = await engineOf(pool);
  await Promise.all(Array.from({ length: barMakers }, () => makeDueBars(pool)));
}
