/** Which quotes stand still: the session runs, and the service says that bid and ask were made long before its answer. */

/** Assumed: in the regular session, what trades at all is quoted anew at least this often. */
const STILL_MINUTES = 10;

/** Assumed: delayed quotes are 15 minutes old, the usual delay of US exchanges. */
export const STILL_DELAY_MINUTES = 15;

/**
 * SQL of the instant since which a quote stands still; NULL where it does not, or the service does not say when it was made. Of
 * before the opening nobody quotes anew: the time counts from there.
 *
 * @param q the quote's alias, which has observed_at, quoted_at and delayed
 */
export function stillSince(q: string): string {
  // Written out each time: Citus pushes no lateral join down.
  const at = `(${q}.observed_at - case when ${q}.delayed then interval '${STILL_DELAY_MINUTES} minutes' else interval '0' end)`;
  return `case when ${q}.quoted_at is not null then (
    select ${q}.quoted_at
    from sessions t
    where t.date = (${q}.observed_at at time zone 'America/New_York')::date
      and ${at} >= t.open_at and ${at} < t.close_at
      and ${at} - greatest(${q}.quoted_at, t.open_at) > interval '${STILL_MINUTES} minutes'
  ) end`;
}
