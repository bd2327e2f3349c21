/**
 * Tables of one connection that hide the archive's own: what is loaded through that connection goes into copies that
 * are gone when it ends, and nobody else sees or waits for any of it. So a trial runs the very code it tries out, and
 * finds what that would find.
 */
import type pg from "pg";
import { newestVersion, readHistory } from "../schema/history.ts";
import { instrumentColumns } from "./instrumentColumns.ts";
import { IS_SAME_INSTRUMENT } from "../schema/instrumentNames.ts";
import { isOnDates } from "../schema/tableRows.ts";
import { readEngine } from "../tiers/citus/door.ts";
import type { Engine } from "../tiers/engine.ts";
import type { Batch } from "./batch.ts";
import { dividendOf } from "../../read/answerToRows.ts";
import { isCsvCall } from "../../read/csvCall.ts";
import { QuotekeeperError } from "../../errors.ts";

/** Tables that are copied with their rows: what is loaded depends on them. */
const COPIED = [
  "sources",
  "accounts",
  "instruments",
  "dividends",
  "due_sets",
  "slots",
  "open_slots",
  "misses",
  "fills",
  "sessions",
  "calendar_days",
  "derived_closes",
  "clock_steps",
  "journal_positions",
  "late_days",
  "archive_identity",
];

/** Those of them whose rows the database numbers. */
const NUMBERED = ["sources", "instruments", "due_sets"];

/** Tables that begin empty: what a batch meets in the archive is copied before it is loaded (`take`). */
const TAKEN = ["responses", "quotes", "extended_quotes", "session_bars", "dead_letters"];

/** How a rebuild would change the quotes of the answers that were read. */
type Rebuilt = {
  /** Quotes that would come back with other values, be it another text of the same number. */
  changed: number;
  /** Quotes that would not come back. */
  gone: number;
};

/** An archive's copies on one connection. */
export class TempCopies {
  /** The one connection that has them. */
  readonly pool: pg.Pool;
  /** The archive's schema, quoted; null: the database was never migrated, and has nothing. */
  readonly #schema: string | null;

  #hasReplacing = false;
  readonly #engine: Engine;

  private constructor(pool: pg.Pool, schema: string | null, engine: Engine) {
    this.pool = pool;
    this.#schema = schema;
    this.#engine = engine;
  }

  /**
   * Makes the copies, as the archive is at one moment.
   *
   * @param pool of one connection that never closes by itself and that has run no statement yet
   * @param version of the archive's schema; 0: there is none
   * @throws QuotekeeperError ARCHIVE_OUTDATED when the archive would be migrated first
   */
  static async open(pool: pg.Pool, version: number): Promise<TempCopies> {
    const newest = await newestVersion();
    if (version > 0 && version < newest)
      throw new QuotekeeperError(
        "ARCHIVE_OUTDATED",
        `the archive is at schema version ${version}, and this program's is ${newest}`,
      );
    const client = await pool.connect();
    try {
      const tables = [...COPIED, ...TAKEN];
      const engine = await readEngine(client);
      const definitions = await (version === 0
        ? foreseeDefinitions(client, tables)
        : readDefinitions(client, tables));
      const { rows } = await client.query<{ schema: string }>(
        "select quote_ident(current_schema()::text) as schema",
      );
      const schema = version === 0 ? null : (rows[0]?.schema ?? "public");
      await client.query("begin isolation level repeatable read");
      for (const definition of definitions) await makeCopy(client, definition, schema);
      await client.query("commit");
      client.release();
      return new TempCopies(pool, schema, engine);
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  /** Copies what the archive has of a batch's answers and quotes, and the quotes that follow those. */
  async take(client: Pick<pg.ClientBase, "query">, batch: Batch): Promise<void> {
    if (this.#schema === null) return;
    const times = [
      ...batch.answers.map(({ record }) => record.observedAt),
      ...batch.notes.map(({ at }) => at),
    ];
    for (const table of ["responses", "dead_letters"])
      await client.query(
        `insert into pg_temp.${table} select r.* from ${this.#schema}.${table} r where r.observed_at = any ($1)
         on conflict do nothing`,
        [times],
      );
    if (batch.answers.some(({ record }) => isCsvCall(record.request))) await this.#takeReplacing(client);
    for (const table of ["extended_quotes", "quotes"])
      await client.query(copyQuotes(this.#engine, this.#schema, table), unitColumns(batch));
  }

  /** Copies, once, the pieces of imports whose rows take the place of others (replaceQuotes.ts). */
  async #takeReplacing(client: Pick<pg.ClientBase, "query">): Promise<void> {
    if (this.#hasReplacing) return;
    this.#hasReplacing = true;
    await client.query(
      `insert into pg_temp.responses select r.* from ${this.#schema}.responses r where r.request ? 'replaces'
       on conflict do nothing`,
    );
  }

  /** Copies all that bears the times of a batch's answers, which a rebuild takes out. */
  async takeTimes(client: Pick<pg.ClientBase, "query">, batch: Batch): Promise<void> {
    await this.take(client, batch);
    if (this.#schema === null || batch.answers.length === 0) return;
    const times = batch.answers.map(({ record }) => record.observedAt).sort();
    for (const table of ["quotes", "extended_quotes"])
      await client.query(
        `insert into pg_temp.${table} select r.* from ${this.#schema}.${table} r
         where r.observed_at = any ($1) and r.observed_at between $2 and $3
         on conflict do nothing`,
        [times, times[0], times.at(-1)],
      );
  }

  /** Copies quotes and answers of the exchange dates on which something was missed, and of the sessions after them. */
  async takeQuotesAroundMisses(): Promise<void> {
    if (this.#schema === null) return;
    for (const table of ["responses", "quotes", "extended_quotes"])
      await this.pool.query(
        `with dates as (
           select distinct (slot_at at time zone 'America/New_York')::date as date from pg_temp.misses
         ), wanted as (
           select date from dates
           union
           select (select n.date from pg_temp.sessions n where n.date > d.date order by n.date limit 1) from dates d
         )
         insert into pg_temp.${table}
         select q.* from wanted w
         join ${this.#schema}.${table} q
           on ${isOnDates("q.observed_at", "w.date", "w.date")}
         on conflict do nothing`,
      );
  }

  /** Whether the ledger has any slot. */
  async hasSlots(): Promise<boolean> {
    const { rows } = await this.pool.query<{ found: boolean }>("select exists (select from slots) as found");
    return rows[0]?.found === true;
  }

  /** Compares the quotes of the answers that were read with the archive's. */
  async compareRebuilt(): Promise<Rebuilt> {
    if (this.#schema === null) return { changed: 0, gone: 0 };
    const { rows } = await this.pool.query<Record<keyof Rebuilt, string>>(
      `select count(*) filter (where n.instrument_id is null) as gone,
              count(*) filter (where n.instrument_id is not null and (q::text, ${textOf("e")}) is distinct from (n.quote, n.extended))
                as changed
       from (select observed_at, source_id from pg_temp.responses
             union select observed_at, source_id from pg_temp.quotes) a
       join ${this.#schema}.quotes q on q.observed_at = a.observed_at and q.source_id = a.source_id
       left join ${this.#schema}.extended_quotes e
         on e.instrument_id = q.instrument_id and e.observed_at = q.observed_at and e.source_id = q.source_id
       -- A table that Citus sends to its workers has there the columns alone that are named, and nulls for the others.
       left join (
         select r.instrument_id, r.observed_at, r.source_id, r::text as quote, ${textOf("x")} as extended
         from pg_temp.quotes r
         left join pg_temp.extended_quotes x
           on x.instrument_id = r.instrument_id and x.observed_at = r.observed_at and x.source_id = r.source_id
       ) n on n.instrument_id = q.instrument_id and n.observed_at = q.observed_at and n.source_id = q.source_id`,
    );
    return { changed: Number(rows[0]?.changed), gone: Number(rows[0]?.gone) };
  }
}

/** A row as text, null where there is none: of one that a coordinator joins its text would be that of a row of nulls. */
const textOf = (row: string): string => `case when ${row}.instrument_id is not null then ${row}::text end`;

async function makeCopy(
  client: pg.ClientBase,
  { table, statements, rows }: Definition,
  schema: string | null,
): Promise<void> {
  for (const statement of statements) await client.query(statement);
  if (!COPIED.includes(table)) return;
  if (schema !== null) await client.query(`insert into pg_temp.${table} select * from ${schema}.${table}`);
  else
    await client.query(
      `insert into pg_temp.${table} select * from json_populate_recordset(null::pg_temp.${table}, $1)`,
      [rows],
    );
  if (NUMBERED.includes(table))
    await client.query(
      `select setval(pg_get_serial_sequence('pg_temp.${table}', 'id'), (select max(id) + 1 from pg_temp.${table}))
       where exists (select from pg_temp.${table})`,
    );
  await client.query(`analyze pg_temp.${table}`);
}

/** The keys of a batch's quotes: `given`. */
const GIVEN = `given as materialized (
      select distinct i.id as instrument_id, s.id as source_id, w.observed_at, w.says
      from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], $7::timestamptz[], $8::text[],
          $9::text[], $10::bool[])
        as w (security_type, symbol, expiration, option_type, strike, root, observed_at, kind, name, says)
      join pg_temp.instruments i on ${IS_SAME_INSTRUMENT}
      join pg_temp.sources s on s.kind = w.kind and s.name = w.name
    )`;

/** By instrument and time, as the keys have it. The quote that follows one with a dividend tells whether that changes back. */
const copyQuotes = (engine: Engine, schema: string, table: string): string => `
    with ${GIVEN}, w as materialized (
      select row_number() over () as place, g.* from given g where g.says
    ), keys as materialized (
      select instrument_id, observed_at, source_id from given
      union
      select w.instrument_id, n.observed_at, w.source_id from w ${engine.firstQuote({ alias: "n", when: ">", quotes: `${schema}.quotes` })}
    )
    insert into pg_temp.${table}
    select q.* from keys k join ${schema}.${table} q
      on q.instrument_id = k.instrument_id and q.observed_at = k.observed_at and q.source_id = k.source_id
    on conflict do nothing`;

function unitColumns({ answers }: Batch): unknown[][] {
  const units = answers.flatMap(({ record: { source }, units: all }) =>
    all.map((unit) => ({ unit, source: unit.restored?.source ?? source })),
  );
  return [
    ...instrumentColumns(units.map(({ unit }) => unit.instrument)),
    units.map(({ unit }) => unit.observedAt),
    units.map(({ source }) => source.kind),
    units.map(({ source }) => source.name),
    units.map(({ unit }) => dividendOf(unit.quote) !== null),
  ];
}

/** Statements that make one temporary table, and its rows from the beginning, as JSON. */
type Definition = { table: string; statements: string[]; rows: string };

const DEFINITIONS = `
  select c.relname as table,
    array[pg_catalog.format('create temp table %I (%s)', c.relname, concat_ws(', ',
      (select string_agg(concat_ws(' ', quote_ident(a.attname::text), format_type(a.atttypid, a.atttypmod),
           case when not n.is_numbered then 'default ' || pg_get_expr(d.adbin, d.adrelid) end,
           -- Where a column is numbered by a sequence of its own (Citus), that is the archive's.
           case when n.is_numbered then 'generated by default as identity' end,
           case when a.attnotnull then 'not null' end), ', ' order by a.attnum)
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       cross join lateral (
         select a.attidentity <> '' or coalesce(pg_get_expr(d.adbin, d.adrelid), '') like 'nextval(%' as is_numbered
       ) n
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
      (select string_agg(pg_catalog.format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), ', ')
       from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'c'))
    ))] || array(
      select regexp_replace(pg_get_indexdef(x.indexrelid), ' ON (ONLY )?\\S+ USING ', pg_catalog.format(' ON pg_temp.%I USING ', c.relname))
      from pg_index x
      where x.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = x.indexrelid)
    ) as statements
  from pg_class c
  where c.relnamespace = quote_ident(current_schema()::text)::regnamespace and c.relname = any ($1)`;

/** Of an archive that is there. */
async function readDefinitions(client: pg.ClientBase, tables: readonly string[]): Promise<Definition[]> {
  const { rows } = await client.query<{ table: string; statements: string[] }>(DEFINITIONS, [tables]);
  return rows.map((row) => ({ ...row, rows: "[]" }));
}

/** Of the archive that the first migration of a database would make: it is made, looked at and undone in one transaction. */
async function foreseeDefinitions(client: pg.ClientBase, tables: readonly string[]): Promise<Definition[]> {
  const { migrations } = await readHistory();
  await client.query("begin");
  try {
    for (const { sql } of migrations) await client.query(sql);
    const definitions = await readDefinitions(client, tables);
    for (const definition of definitions) {
      const { rows } = await client.query<{ all: string }>(
        `select coalesce(json_agg(t), '[]')::text as all from ${definition.table} t`,
      );
      definition.rows = rows[0]?.all ?? "[]";
    }
    return definitions;
  } finally {
    await client.query("rollback");
  }
}
