/**
 * Tables of one connection that hide the archive's own: what is loaded through that connection goes into copies that
 * are gone when it ends, and nobody else sees or waits for any of it. So a trial runs the very code it tries out.
 */
import type pg from "pg";

/** Tables that are copied with their rows: what is loaded depends on them. */
const COPIED = [
  "sources",
  "instruments",
  "dividends",
  "due_sets",
  "slots",
  "open_slots",
  "misses",
  "fills",
  "sessions",
  "derived_closes",
];

/** Tables that begin empty: what they get is compared with the archive's own. */
const EMPTY = ["responses", "quotes", "extended_quotes", "dead_letters", "journal_positions"];

/** Copies of constraints get names of their own; the loader calls this one by its name. */
const NAME_IDENTITY = `
  do $$
  declare made name;
  begin
    select conname into strict made from pg_constraint where conrelid = 'pg_temp.instruments'::regclass and contype = 'u';
    execute format('alter table pg_temp.instruments rename constraint %I to instruments_identity', made);
  end
  $$`;

/**
 * Makes the tables on the one connection of a pool.
 *
 * @param scratch a pool of one connection that never closes by itself and that has run no statement yet
 */
export async function createShadow(scratch: pg.Pool): Promise<void> {
  for (const table of [...COPIED, ...EMPTY])
    await scratch.query(
      `create temp table ${table} (like ${table} including defaults including identity including indexes including constraints)`,
    );
  await scratch.query(NAME_IDENTITY);
  const schema = await schemaOf(scratch);
  for (const table of COPIED)
    await scratch.query(`insert into pg_temp.${table} select * from ${schema}.${table}`);
  for (const table of ["sources", "instruments", "due_sets"])
    await scratch.query(
      `select setval(pg_get_serial_sequence('pg_temp.${table}', 'id'), (select max(id) + 1 from pg_temp.${table}))
       where exists (select from pg_temp.${table})`,
    );
  for (const table of COPIED) await scratch.query(`analyze pg_temp.${table}`);
}

/** What the copies hold that the archive does not, counted by key. */
export type ShadowCounts = {
  responses: number;
  quotes: number;
  dividends: number;
  slots: number;
};

/** Keys that make a row of each table the same row. */
const KEYS = {
  responses: ["observed_at", "source_id", "request_id"],
  quotes: ["instrument_id", "observed_at", "source_id"],
  dividends: ["instrument_id", "observed_at", "source_id"],
  slots: ["job", "slot_at", "source_id"],
} as const;

/** Compares. */
export async function countNew(scratch: pg.Pool): Promise<ShadowCounts> {
  const schema = await schemaOf(scratch);
  const counts: ShadowCounts = { responses: 0, quotes: 0, dividends: 0, slots: 0 };
  for (const table of ["responses", "quotes", "dividends", "slots"] as const) {
    const same = KEYS[table].map((column) => `r.${column} = t.${column}`).join(" and ");
    const { rows: found } = await scratch.query<{ n: string }>(
      `select count(*) as n from pg_temp.${table} t where not exists (select from ${schema}.${table} r where ${same})`,
    );
    counts[table] = Number(found[0]?.n ?? 0);
  }
  return counts;
}

/** How a rebuild would change the quotes of the answers that were read. */
export type Rebuilt = {
  /** Quotes that would be taken out. */
  replaced: number;
  /** Those of them that would come back with other values. */
  changed: number;
  /** Those that would not come back. */
  gone: number;
};

const QUOTE_VALUES = "delayed, bid, ask, last, change, pct_change";
const EXTENDED_VALUES = `bid_size, ask_size, open, high, low, previous_close, volume, session_volume,
  earnings_per_share, pe_ratio, high_52_week, low_52_week, contract_high, contract_low, contract_size, delta`;

/** Compares the quotes of the answers that were read with the archive's. */
export async function compareRebuilt(scratch: pg.Pool): Promise<Rebuilt> {
  const schema = await schemaOf(scratch);
  const values = (alias: string, columns: string): string =>
    `(${columns
      .split(",")
      .map((column) => `${alias}.${column.trim()}`)
      .join(", ")})`;
  const { rows } = await scratch.query<Record<keyof Rebuilt, string>>(
    `select count(*) as replaced,
            count(*) filter (where n.instrument_id is null) as gone,
            count(*) filter (where n.instrument_id is not null and (
              ${values("q", QUOTE_VALUES)} is distinct from ${values("n", QUOTE_VALUES)}
              or ${values("e", EXTENDED_VALUES)} is distinct from ${values("x", EXTENDED_VALUES)})) as changed
     from (select observed_at, source_id from pg_temp.responses
           union select observed_at, source_id from pg_temp.quotes) a
     join ${schema}.quotes q on q.observed_at = a.observed_at and q.source_id = a.source_id
     left join ${schema}.extended_quotes e
       on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
     left join pg_temp.quotes n
       on n.instrument_id = q.instrument_id and n.observed_at = q.observed_at and n.source_id = q.source_id
     left join pg_temp.extended_quotes x
       on x.instrument_id = q.instrument_id and x.observed_at = q.observed_at and x.source_id = q.source_id`,
  );
  const [{ replaced, changed, gone } = { replaced: "0", changed: "0", gone: "0" }] = rows;
  return { replaced: Number(replaced), changed: Number(changed), gone: Number(gone) };
}

/** The archive's schema, quoted. */
async function schemaOf(scratch: pg.Pool): Promise<string> {
  const { rows } = await scratch.query<{ schema: string }>("select quote_ident(current_schema()) as schema");
  return rows[0]?.schema ?? "public";
}

/** Copies the quotes of the exchange dates on which something was missed, and of the sessions after them. */
export async function copyQuotesAroundMisses(scratch: pg.Pool): Promise<void> {
  const schema = await schemaOf(scratch);
  for (const table of ["quotes", "extended_quotes"])
    await scratch.query(
      `with dates as (
         select distinct (slot_at at time zone 'America/New_York')::date as date from pg_temp.misses
       ), wanted as (
         select date from dates
         union
         select (select n.date from pg_temp.sessions n where n.date > d.date order by n.date limit 1) from dates d
       )
       insert into pg_temp.${table}
       select q.* from wanted w
       join ${schema}.${table} q
         on q.observed_at >= w.date::timestamp at time zone 'America/New_York'
        and q.observed_at < (w.date + 1)::timestamp at time zone 'America/New_York'
       on conflict do nothing`,
    );
}
