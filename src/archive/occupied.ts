/** What stands in a database under the names that the archive needs, and is not quotekeeper's. */
import type pg from "pg";
import { DatabaseProblem } from "./databaseError.ts";

type Queryable = Pick<pg.ClientBase, "query">;

/** What a migration makes: tables and views, whose names are those of types as well, indexes and functions. */
const MADE = /^create (?:unique )?(table|view|index|function) (\w+)/gm;

const KINDS = `case relkind when 'v' then 'a view' when 'm' then 'a materialized view' when 'f' then 'a foreign table'
  when 'S' then 'a sequence' when 'c' then 'a type' when 'i' then 'an index' when 'I' then 'an index' else 'a table' end`;

/** Things in the way are listed up to this many. */
const MOST_THINGS = 3;

type Script = { sql: string };

/**
 * Looks whether the names that migrations need are free. What those that were applied have made is ours, and may be
 * made anew.
 *
 * @returns null when they are free
 */
export async function findOccupied(
  db: Queryable | pg.Pool,
  { pending, applied = [] }: { pending: readonly Script[]; applied?: readonly Script[] },
): Promise<DatabaseProblem | null> {
  const ours = new Set(applied.flatMap(madeBy).map(({ name }) => name));
  const made = pending.flatMap(madeBy).filter(({ name }) => !ours.has(name));
  const namesOf = (...kinds: string[]): string[] =>
    made.flatMap(({ kind, name }) => (kinds.includes(kind) ? [name] : []));
  const { rows } = await (db as Queryable).query<{ kind: string; name: string }>(
    `select ${KINDS} as kind, quote_ident(relname) as name from pg_class
     where relnamespace = to_regnamespace(quote_ident(current_schema())) and relname = any ($1)
     union all
     select 'a type', quote_ident(typname) from pg_type
     where typnamespace = to_regnamespace(quote_ident(current_schema())) and typname = any ($2) and typrelid = 0
     union all
     select 'a function', quote_ident(proname) from pg_proc
     where pronamespace = to_regnamespace(quote_ident(current_schema())) and proname = any ($3)
     order by 2`,
    [namesOf("table", "view", "index"), namesOf("table", "view"), namesOf("function")],
  );
  return rows.length === 0 ? null : occupied(rows.map(({ kind, name }) => `${kind} called ${name}`));
}

function madeBy({ sql }: Script): { kind: string; name: string }[] {
  return [...sql.matchAll(MADE)].map(([, kind = "", name = ""]) => ({ kind, name }));
}

/** @param things each with its kind and name: `a table called quotes` */
export function occupied(things: readonly string[]): DatabaseProblem {
  const rest = things.length > MOST_THINGS ? ` and ${things.length - MOST_THINGS} more` : "";
  const are = things.length === 1 ? "is" : "are";
  return new DatabaseProblem(
    "DATABASE_OCCUPIED",
    `${things.slice(0, MOST_THINGS).join(", ")}${rest} that ${are} not quotekeeper's ${are} in the way`,
  );
}
