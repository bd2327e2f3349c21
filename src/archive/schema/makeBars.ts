/** Makes the bars of rows that were stored (migrations/repeat/20_bars.sql). */
import type pg from "pg";
import type { Queryable } from "../connect/transaction.ts";
import { IN_EACH_OTHERS_WAY, problemCodeOf, sqlstateOf } from "../connect/databaseError.ts";
import { mayBeOfARow } from "../connect/whoseFault.ts";
import { engineOf } from "../tiers/citus/door.ts";
import { addDays, exchangeInstant } from "../../market/calendar/dates.ts";

/** Session bars all of whose bars are to be made again, and some are kept. */
export const IS_STALE = "made_to = '-infinity' and bars_to > '-infinity' and not quotes_dropped";

/**
 * Removes what is kept of bars that are stale, in the transaction that changes their rows: views make them of the quotes until they are made.
 *
 * @param dates exchange dates. TimescaleDB unpacks the chunks of their time alone.
 */
export async function removeStaleBars(client: pg.ClientBase, dates: readonly string[]): Promise<void> {
  if (dates.length === 0) return;
  const sorted = dates.toSorted();
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  const times = [exchangeInstant(first, "00:00"), exchangeInstant(addDays(last, 1), "00:00")];
  await client.query(
    `delete from intraday_bars k using session_bars b
     where b.instrument_id = k.instrument_id and b.source_id = k.source_id and b.delayed = k.delayed and b.date = k.date
       and k.bar_at >= $2 and k.bar_at < $3 and k.date = any ($1::date[]) and b.date = any ($1::date[]) and ${IS_STALE}`,
    [sorted, ...times],
  );
  await client.query(`update session_bars set bars_to = null where date = any ($1::date[]) and ${IS_STALE}`, [
    sorted,
  ]);
}

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

/** The same before bars are read for a file, as far as this connection may: views make those that are due of the quotes. */
export async function makeDueBarsIfAllowed(db: Queryable): Promise<void> {
  await makeDueBars(db).catch((error: unknown) => {
    // 42883 undefined_function: the schema is another release's.
    if (problemCodeOf(error) === null && sqlstateOf(error) !== "42883") throw error;
  });
}

/** The same at the end of a backfill, which has made many bars due: several connections at once, each with bars of its own. */
export async function makeManyDueBars(pool: pg.Pool): Promise<void> {
  const { barMakers } = await engineOf(pool);
  await Promise.all(Array.from({ length: barMakers }, () => makeDueBars(pool)));
}
