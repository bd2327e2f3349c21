/** Exchange dates whose rows come, or are changed, when the date is over: what was written down of them is out of date. */
import type pg from "pg";
import { dateOf, type Instant } from "../../ground/clock.ts";
import type { LedgerNote } from "../../journal/ledger.ts";
import { exchangeDate } from "../../market/calendar/dates.ts";
import { lateDays } from "./internalSchema.ts";
import { remembered } from "../../ground/remembered.ts";
import { columnList } from "./tableRows.ts";

/** As far as the hour: the exchange's days begin at a whole one. */
const HOUR_CHARS = 13;

/** The exchange dates of some instants, as a rule in order, ascending. One that is no time has none: its note is refused where it is stored. */
export function exchangeDatesOf(instants: Iterable<Instant>): string[] {
  const hours = new Set<string>();
  let last = "";
  for (const at of instants) {
    if (last !== "" && at.startsWith(last)) continue;
    last = at.slice(0, HOUR_CHARS);
    hours.add(last);
  }
  return [...new Set([...hours].flatMap(dateIn))].sort();
}

/** The slots that a note tells of. A note as the journal has it need not be whole: that is found out where it is stored. */
export function slotTimesIn(note: LedgerNote): Instant[] {
  const { entries, slots } = note as { entries?: { slotAt?: unknown }[]; slots?: unknown[] };
  const times = Array.isArray(entries) ? entries.map((entry) => entry.slotAt) : slots;
  return Array.isArray(times) ? times.filter((at) => typeof at === "string") : [];
}

/** The exchange date of an instant. @throws QuotekeeperError UNEXPECTED for what is none */
export function exchangeDateAt(at: Instant): string {
  return dateOfHour(at.slice(0, HOUR_CHARS));
}

const dateOfHour = remembered(1_000, (hour: string) => exchangeDate(dateOf(`${hour}:00:00.000000Z`)));

function dateIn(hour: string): string[] {
  try {
    return [dateOfHour(hour)];
  } catch {
    return [];
  }
}

/** Notes those of the exchange dates that are over, in the transaction that adds or changes their rows. */
export async function markLate(client: pg.ClientBase, dates: readonly string[]): Promise<void> {
  if (dates.length === 0) return;
  await client.query({
    name: "mark late days",
    text: `insert into late_days (${columnList(lateDays, "date", "changedBy", "changedAt")})
      select date, pg_current_xact_id(), clock_timestamp() from unnest($1::date[]) as date
      where date < (clock_timestamp() at time zone 'America/New_York')::date order by date
      on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
    values: [dates],
  });
}
