/**
 * How late a quote may be and still count for a slot. A slot lasts until the first of these:
 * - the next slot of its job begins
 * - the part of the trading day closes in which its job polls
 * - the next trading day begins, with its pre-market
 * - a day has passed
 *
 * A quote counts that was asked for while the slot lasted, whoever asked and whenever the answer came. Nobody asked for
 * an imported quote: it counts by its own time. The collector, a restart, the settling of a downtime and backfill all
 * go by this. Pure.
 */
import { addDays, exchangeDate } from "../market/calendar/dates.ts";
import { type Calendar, FIRST_DATE, type WantedSession } from "../market/calendar/tradingCalendar.ts";

/** Epoch ms; `closes`: the slot is over because its session closes. */
export type SlotEnd = { deadlineMs: number; closes: boolean };

export const LONGEST_SLOT_MS = 86_400_000;

/** The times of the calendar that end slots of a trading day from `fromMs` on, epoch ms UTC; Infinity: none does. */
type Bounds = { fromMs: number; closesMs: number; dayEndsMs: number };

/**
 * The ends of the slots of one session. It remembers the bounds of the last trading day: slots come by the hundred in
 * each.
 *
 * @param wanted the part of the trading day in which the job polls
 * @returns when a slot is over, by itself and the next one of its job (epoch ms UTC; Infinity: there is none)
 */
export function slotEnds(
  calendar: Calendar,
  wanted: WantedSession,
): (slotMs: number, nextMs: number) => SlotEnd {
  let known: Bounds | null = null;
  return (slotMs, nextMs) => {
    const bounds = known && holdFor(known, slotMs) ? known : boundsOf(calendar, wanted, slotMs);
    known = bounds;
    const { closesMs, dayEndsMs } = bounds;
    const lastsMs = Math.min(nextMs, dayEndsMs, slotMs + LONGEST_SLOT_MS);
    return { deadlineMs: Math.min(lastsMs, closesMs), closes: closesMs < lastsMs };
  };
}

/** Where no trading day follows within a day, each slot has bounds of its own. */
function holdFor({ fromMs, closesMs, dayEndsMs }: Bounds, slotMs: number): boolean {
  return slotMs >= fromMs && slotMs < Math.min(closesMs, dayEndsMs) && dayEndsMs < Infinity;
}

function boundsOf(calendar: Calendar, wanted: WantedSession, slotMs: number): Bounds {
  const at = new Date(slotMs);
  const date = exchangeDate(at);
  // A machine without a battery may begin in 1970.
  const sessions = [date, addDays(date, 1)].map((day) => (day < FIRST_DATE ? null : calendar.session(day)));
  const next = sessions.find((session) => session && session.pre > at);
  const dayEndsMs = next?.pre.getTime() ?? Infinity;
  return {
    fromMs: slotMs,
    closesMs: closesMs(calendar, wanted, { at, session: sessions[0] ?? null }),
    dayEndsMs,
  };
}

/** When the wanted session ends after an instant of its day, epoch ms; Infinity when it goes on. */
function closesMs(
  calendar: Calendar,
  wanted: WantedSession,
  { at, session }: { at: Date; session: ReturnType<Calendar["session"]> },
): number {
  if (wanted === "always" || !session) return Infinity;
  const { open, close, post } = session;
  const end = { pre: open, regular: close, post, any: post }[wanted];
  return end <= at || calendar.isOpenFor(wanted, end) ? Infinity : end.getTime();
}
