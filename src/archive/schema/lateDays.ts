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

export class DatesOf {
  readonly #hours = new Set<string>();
  #last = "";

  add(at: Instant): void {
    // Instants come in order, as a rule.
    if (this.#last !== "" && at.startsWith(this.#last)) return;
    this.#last = at.slice(0, HOUR_CHARS);
    this.#hours.add(this.#last);
  }

  /** A note as the journal has it, which may not be whole: that is found out where it is stored. */
  addNote(note: LedgerNote): void {
    const { entries, slots } = note as { entries?: { slotAt?: unknown }[]; slots?: unknown[] };
    const times = Array.isArray(entries) ? entries.map((entry) => entry.slotAt) : slots;
    if (Array.isArray(times)) for (const at of times) if (typeof at === "string") this.add(at);
  }

  get all(): string[] {
    return [...new Set([...this.#hours].flatMap(dateIn))].sort();
  }
}

/** The exchange date of an instant. @throws RangeError for what is none */
export function exchangeDateAt(at: Instant): string {
  return dateOfHour(at.slice(0, HOUR_CHARS));
}

const dateOfHour = remembered(1_000, (hour: string) => exchangeDate(dateOf(`${hour}:00:00.000000Z`)));

/** None for a time that is no time: a note of it is refused where it is stored. */
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
