/** What statements of the other rooms have otherwise on Citus, and how plain tables and hypertables have it. */

/** SQL, of parts of statements, and what an engine can do. */
export type Engine = {
  /** Ends a query of rows `i` of `instruments` that are updated next: locks them in the order of their numbers. */
  instrumentsLocked: string;
  /** The newest session bar of each series: `instrument_id`, `source_id`, `delayed`, `last_at`. */
  newestBars: string;
  /**
   * Joins `n` to each row `w`, of a materialized query of that name: `observed_at` of the next quote of its series, NULL where there is
   * none. A row has `place`, `instrument_id`, `source_id`, `observed_at`.
   */
  nextQuote: string;
  /**
   * Queries before one that looks for quotes of the instruments `found` at or around instants: what they find hides the tables of
   * quotes. Null: the look reads the tables.
   */
  nearFound: string | null;
  /** Whether a statement may be planned once for all values. */
  plansOnce: boolean;
  /** How many connections make bars at once: what a program that ends its backfill may take of the server's processors. */
  barMakers: number;
  /** Whether a statement's snapshot tells what it sees of all tables. */
  hasOneSnapshot: boolean;
};

export const ONE_MACHINE: Engine = {
  instrumentsLocked: "order by i.id for no key update of i",
  newestBars: `(
    select i.id as instrument_id, s.id as source_id, d.delayed, b.last_at
    from instruments i
    cross join sources s
    cross join (values (false), (true)) as d (delayed)
    cross join lateral (
      select b.last_at from session_bars b
      where b.instrument_id = i.id and b.source_id = s.id and b.delayed = d.delayed
      order by b.date desc
      limit 1
    ) b
  )`,
  nextQuote: `left join lateral (
    select q.observed_at from quotes q
    where q.instrument_id = w.instrument_id and q.source_id = w.source_id and q.observed_at > w.observed_at
    order by q.observed_at
    limit 1
  ) n on true`,
  nearFound: null,
  plansOnce: true,
  barMakers: 2,
  hasOneSnapshot: true,
};
