/** Takes the rows of answers out of the archive, so that they can be put in anew in the same transaction. */
import type pg from "pg";
import { instrumentColumns } from "../load/instrumentColumns.ts";
import { IS_SAME_INSTRUMENT } from "../schema/instrumentNames.ts";
import { sourceText } from "../load/sources.ts";
import { withoutReplaced } from "../load/replaceQuotes.ts";
import type { AnswerRows, QuoteUnit } from "../../read/rowTypes.ts";
import type { JournaledNote } from "../load/loadNotes.ts";
import { SLOT_KEYS, type SlotKey, slotKeyValues } from "./restoreFills.ts";
import type { RecordSource } from "../../journal/record.ts";

/** Tables whose rows bear an answer's time and source, the one that is counted first. */
const TABLES = ["quotes", "extended_quotes", "dead_letters"] as const;

/**
 * Only what these answers became: rows of another answer that bears the same time stay, and so does whatever has no
 * answer in this journal. `session_bars` is for the caller to recompute. Dividends stay, for the quotes behind them repeat
 * them: storing the answers makes them anew, and `removeStrayDividends` takes out those without a quote.
 *
 * @returns how many quotes were taken out
 */
export async function removeAnswers(client: pg.ClientBase, answers: readonly AnswerRows[]): Promise<number> {
  await client.query(
    `create temp table if not exists removed_answers (observed_at timestamptz, source_id smallint) on commit delete rows`,
  );
  await client.query("truncate removed_answers");
  const sources = await client.query<{ id: number; kind: string; name: string }>(
    "select id, kind, name from sources",
  );
  const numbers = new Map(sources.rows.map((source) => [sourceText(source), source.id]));
  const there = answers.filter(({ record }) => numbers.has(sourceText(record.source)));
  // Read before the answers are deleted: rows that a newer import has replaced belong to that import.
  const units = await unitsInForce(client, there, (source) => numbers.get(sourceText(source)) ?? 0);
  await client.query(
    `with given as (
       select * from unnest($1::timestamptz[], $2::smallint[], $3::uuid[]) as w (observed_at, source_id, request_id)
     ), gone as (
       delete from responses r using given g
       where r.observed_at = g.observed_at and r.source_id = g.source_id and r.request_id = g.request_id
     )
     insert into removed_answers
     select g.observed_at, g.source_id from given g
     where not exists (
       select from responses r
       where r.observed_at = g.observed_at and r.source_id = g.source_id and r.request_id <> g.request_id
     )`,
    [
      there.map(({ record }) => record.observedAt),
      there.map(({ record }) => numbers.get(sourceText(record.source))),
      there.map(({ record }) => record.requestId),
    ],
  );
  await client.query("analyze removed_answers");
  const [from, to] = boundsOf(answers.map(({ record }) => record.observedAt));
  let quotes = 0;
  for (const table of TABLES) {
    // The bounds let the server pass over the partitions of other times.
    const { rowCount } = await client.query(
      `delete from ${table} t using removed_answers r
       where t.observed_at = r.observed_at and t.source_id = r.source_id and t.observed_at between $1 and $2`,
      [from, to],
    );
    if (table === "quotes") quotes = rowCount ?? 0;
  }
  return quotes + (await removeUnits(client, units));
}

/** Takes out dividends of the answers that were removed last and are stored anew: those at whose times no quote is any more. */
export async function removeStrayDividends(
  client: pg.ClientBase,
  answers: readonly AnswerRows[],
): Promise<void> {
  // On Citus a join of quotes stands by itself: they lie on the workers, and dividends do not.
  await client.query(
    `with kept as materialized (
       select d.instrument_id, d.observed_at, d.source_id from dividends d
       join removed_answers r on d.observed_at = r.observed_at and d.source_id = r.source_id
       where d.observed_at between $1 and $2
     ), quoted as materialized (
       select q.instrument_id, q.observed_at, q.source_id from quotes q
       join kept k on q.instrument_id = k.instrument_id and q.observed_at = k.observed_at and q.source_id = k.source_id
       where q.observed_at between $1 and $2
     )
     delete from dividends d using (select * from kept except select * from quoted) k
     where d.instrument_id = k.instrument_id and d.observed_at = k.observed_at and d.source_id = k.source_id`,
    boundsOf(answers.map(({ record }) => record.observedAt)),
  );
}

type ImportedUnit = { unit: QuoteUnit; source: RecordSource };

/** Rows that bear times of their own, as those of imports do; without those that newer imports have replaced. */
async function unitsInForce(
  client: pg.ClientBase,
  answers: readonly AnswerRows[],
  numberOf: (source: RecordSource) => number,
): Promise<readonly ImportedUnit[]> {
  const units = answers.flatMap(({ record, units: all }) =>
    all
      .filter(({ observedAt }) => observedAt !== record.observedAt)
      .map((unit) => ({
        unit,
        source: unit.restored?.source ?? record.source,
        sourceId: numberOf(record.source),
        observedAt: record.observedAt,
      })),
  );
  return units.length === 0 ? units : withoutReplaced(client, units);
}

async function removeUnits(client: pg.ClientBase, units: readonly ImportedUnit[]): Promise<number> {
  if (units.length === 0) return 0;
  const values = [
    ...instrumentColumns(units.map(({ unit }) => unit.instrument)),
    units.map(({ unit }) => unit.observedAt),
    units.map(({ source }) => source.kind),
    units.map(({ source }) => source.name),
    units.map(({ unit }) => unit.instrument.assumedType),
  ];
  let quotes = 0;
  for (const table of ["quotes", "extended_quotes"]) {
    const { rowCount } = await client.query(
      `delete from ${table} t
       using unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::numeric[], $6::text[], $7::timestamptz[], $8::text[],
           $9::text[], $10::bool[])
         as w (security_type, symbol, expiration, option_type, strike, root, observed_at, kind, name, assumed),
         instruments i, sources s
       where ${IS_SAME_INSTRUMENT} and (i.security_type = w.security_type or w.assumed)
         and s.kind = w.kind and s.name = w.name
         and t.instrument_id = i.id and t.observed_at = w.observed_at and t.source_id = s.id`,
      values,
    );
    if (table === "quotes") quotes = rowCount ?? 0;
  }
  return quotes;
}

function boundsOf(times: readonly string[]): [string, string] {
  const sorted = times.toSorted();
  return [sorted[0] ?? "infinity", sorted.at(-1) ?? "-infinity"];
}

/** Takes entries of slots out of the archive, and the dead letters of notes, so that they can be put in anew. */
export async function removeNotes(
  client: pg.ClientBase,
  keys: readonly SlotKey[],
  notes: readonly JournaledNote[],
): Promise<void> {
  if (keys.length > 0)
    for (const table of ["misses", "slots"])
      await client.query(
        `delete from ${table} t using ${SLOT_KEYS}
         where t.job = w.job and t.slot_at = w.slot_at and t.source_id = w.source_id and t.account_id = w.account_id`,
        slotKeyValues(keys),
      );
  if (notes.length > 0)
    await client.query("delete from dead_letters where observed_at = any ($1) and ordinal < 0", [
      notes.map(({ at }) => at),
    ]);
}

export async function remakeBars(client: pg.ClientBase, dates: Iterable<string>): Promise<void> {
  for (const date of dates) await client.query("select recompute_session_bars($1, $1)", [date]);
}

/** Whether the archive has an answer from elsewhere than from what was read. @param ends how far each segment was read */
export async function hasOtherAnswers(pool: pg.Pool, ends: ReadonlyMap<string, number>): Promise<boolean> {
  const { rows } = await pool.query<{ others: boolean }>(
    `select exists (
       select from responses r
       left join unnest($1::text[], $2::bigint[]) as s (name, read_to)
         on s.name = r.journal_segment and s.read_to > r.journal_offset
       where s.name is null
     ) as others`,
    [[...ends.keys()], [...ends.values()]],
  );
  return rows[0]?.others === true;
}
