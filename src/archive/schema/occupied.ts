/** What stands in a database under the names that the archive needs, and is not quotekeeper's. */
import { isStranger } from "../connect/searchPath.ts";
import type { Queryable } from "../connect/transaction.ts";
import type { Script } from "./history.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { someNames } from "../../ground/figures.ts";

/** What a file makes: tables and views, whose names are those of types as well, types, indexes and functions, also by renaming. */
const MADE =
  /^(?:create (?:or replace )?(?:unique )?|alter (?=.* rename to))(table|view|type|index|function) (?:.* rename to )?(\w+)/gm;

/** What `migrate` itself and the tiers make. */
export const MADE_ELSEWHERE: readonly MadeTable[] = [
  ...["schema_migrations", "schema_texts", "migration_lock"].map((name) => ({ kind: "table", name })),
  ...["drop_old_quotes"].map((name) => ({ kind: "function", name })),
  { kind: "type", name: "dictionary_numeric" },
];

export const KINDS = `case relkind when 'v' then 'a view' when 'm' then 'a materialized view' when 'f' then 'a foreign table'
  when 'S' then 'a sequence' when 'c' then 'a type' when 'i' then 'an index' when 'I' then 'an index' else 'a table' end`;

const MOST_THINGS = 3;

type MadeTable = { kind: string; name: string };

/**
 * Looks whether the names that migrations need are free. What those that were applied have made is ours, and may be
 * made anew, unless it is a stranger's: replaced by us, a function would stay its owner's, who could change it again.
 *
 * @returns null when they are free
 */
export async function findOccupied(
  db: Queryable,
  { pending, applied = [] }: { pending: readonly MadeTable[]; applied?: readonly MadeTable[] },
): Promise<QuotekeeperError | null> {
  const ours = [...applied, ...MADE_ELSEWHERE];
  const known = new Set(ours.map(({ name }) => name));
  const needed = pending.filter(({ name }) => !known.has(name));
  const { rows } = await db.query<{ kind: string; name: string }>(
    `select kind, quote_ident(name) as name
     from (
       select 'relation' as space, ${KINDS} as kind, relname::text as name, relowner as owner
       from pg_class where relnamespace = to_regnamespace(quote_ident(current_schema()::text))
       union all
       select 'type', 'a type', typname::text, typowner
       from pg_type where typnamespace = to_regnamespace(quote_ident(current_schema()::text)) and typrelid = 0
       union all
       select 'function', 'a function', proname::text, proowner
       from pg_proc where pronamespace = to_regnamespace(quote_ident(current_schema()::text))
     ) there
     where space || ' ' || name = any ($1) or space || ' ' || name = any ($2) and ${isStranger("owner")}
       -- Of an archive that is there, whoever has made it is none.
       and not ($3 and owner = (select relowner from pg_class where oid = to_regclass('schema_migrations')))
     order by 2`,
    [spaced(needed), spaced(ours), applied.length > 0],
  );
  return rows.length === 0 ? null : occupied(rows.map(({ kind, name }) => `${kind} called ${name}`));
}

/** Names with what their like share them with: `relation quotes`. */
function spaced(made: readonly MadeTable[]): string[] {
  return [
    ...namesOf(made, "table", "view", "index", "type").map((name) => `relation ${name}`),
    ...namesOf(made, "table", "view", "type").map((name) => `type ${name}`),
    ...namesOf(made, "function").map((name) => `function ${name}`),
  ];
}

export function namesOf(made: readonly MadeTable[], ...kinds: string[]): string[] {
  return made.flatMap(({ kind, name }) => (kinds.includes(kind) ? [name] : []));
}

export function madeBy({ sql }: Pick<Script, "sql">): MadeTable[] {
  return [...sql.matchAll(MADE)].map(([, kind = "", name = ""]) => ({ kind, name }));
}

/** @param things each with its kind and name: `a table called quotes` */
export function occupied(things: readonly string[]): QuotekeeperError {
  const are = things.length === 1 ? "is" : "are";
  return new QuotekeeperError(
    "DATABASE_OCCUPIED",
    `${someNames(things, MOST_THINGS)} that ${are} not quotekeeper's ${are} in the way`,
  );
}
