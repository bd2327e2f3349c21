/**
 * What rows of a time need before they can be inserted: on the plain tier monthly range partitions (months are UTC),
 * on every tier the sessions of their year. Hypertables make their chunks themselves.
 */
import type pg from "pg";
import type { Instant } from "../../ground/clock.ts";
import { ensureSessions, FIRST_YEAR } from "./sessions.ts";
import { PARTITIONED_TABLES } from "../tiers/hypertables.ts";
import { ADDING_LOCK } from "../connect/transaction.ts";

const MONTHS_AHEAD = 3;

/** Rows further apart than this do not come in one batch by chance: only their own months are made, none between. */
const MOST_MONTHS = 24;

/** A month as a count since the year 0, so that months can be added. */
function monthOf(instant: Instant): number {
  return Number(instant.slice(0, 4)) * 12 + Number(instant.slice(5, 7)) - 1;
}

/** `2026-11-01`, the first day of a month. */
function monthStart(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}-01`;
}

/**
 * Makes the partitions for rows from `from` to `to`, and MONTHS_AHEAD more. Safe from many connections at once.
 * Inside a transaction it takes part in it.
 */
export async function ensurePartitions(client: pg.ClientBase, from: Instant, to: Instant): Promise<void> {
  const months: number[] = [];
  for (let month = monthOf(from); month <= monthOf(to) + MONTHS_AHEAD; month++) months.push(month);
  await ensureMonths(client, months);
}

/** Makes the partitions for rows at these instants alone: a few rows of old years need no partition in between. */
export async function ensurePartitionsFor(
  client: pg.ClientBase,
  instants: readonly Instant[],
): Promise<void> {
  const months = [...new Set(instants.map(monthOf))].sort((a, b) => a - b);
  const [first, last] = [months[0], months.at(-1)];
  if (first === undefined || last === undefined) return;
  const ahead = Array.from({ length: MONTHS_AHEAD }, (_, index) => last + 1 + index);
  const between = last - first <= MOST_MONTHS ? range(first, last) : months;
  await ensureMonths(client, [...between, ...ahead]);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function ensureMonths(client: pg.ClientBase, months: readonly number[]): Promise<void> {
  const wanted = months.flatMap((month) =>
    PARTITIONED_TABLES.map((table) => ({ table, month, name: partitionName(table, month) })),
  );
  const years = [...new Set(months.map((month) => Math.floor(month / 12)))].filter(
    (year) => year >= FIRST_YEAR,
  );
  const { rows } = await client.query<{ missing: string[]; yearless: boolean }>(
    `select array(
       select name from unnest($1::text[]) as name
       where to_regclass(name) is null and exists (select from pg_class where oid = to_regclass('quotes') and relkind = 'p')
     ) as missing,
     exists (
       select from unnest($2::int[]) as year
       where not exists (select from sessions where date between make_date(year, 1, 1) and make_date(year, 12, 31))
     ) as yearless`,
    [wanted.map(({ name }) => name), years],
  );
  const [{ missing, yearless } = { missing: [], yearless: false }] = rows;
  if (yearless) await ensureSessions(client, years);
  if (missing.length === 0) return;
  const names = new Set(missing);
  for (const one of wanted) if (names.has(one.name)) await makePartition(client, one);
}

/**
 * Attached rather than created in place: that waits for no reader of the table and keeps none waiting. One statement, which
 * is a transaction or a part of one; who waits for the lock finds the partition afterwards.
 *
 * Its columns stand in the order of their widths, those of changing width last: an extended quote has nothing between them
 * then, which takes 9 bytes fewer of 141. Whoever reads the table sees the table's order.
 */
async function makePartition(
  client: pg.ClientBase,
  { table, month, name }: { table: string; month: number; name: string },
): Promise<void> {
  await client.query(
    `do $$
     begin
       ${ADDING_LOCK};
       if to_regclass('${name}') is null then
         execute (
           select format('create table ${name} (%s)', string_agg(definition, ', ' order by place))
           from (
             select format('%I %s', attname, format_type(atttypid, atttypmod)) || case when attnotnull then ' not null' else '' end as definition,
                    row_number() over (order by attlen < 0, attlen desc, attnum) as place
             from pg_attribute
             where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped
             union all
             select format('constraint %I %s', conname, pg_get_constraintdef(oid)), 1e9
             from pg_constraint
             where conrelid = '${table}'::regclass and contype = 'c'
           ) parts
         );
         alter table ${table} attach partition ${name}
           for values from ('${monthStart(month)} 00:00:00+00') to ('${monthStart(month + 1)} 00:00:00+00');
       end if;
     end
     $$`,
  );
}

function partitionName(table: string, month: number): string {
  return `${table}_${monthStart(month).slice(0, 7).replace("-", "_")}`;
}
