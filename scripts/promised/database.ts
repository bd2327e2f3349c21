/** What users may rely on (docs/promises.md) of what a migrated database has: columns of tables and views, SQL functions. */
import type pg from "pg";
import { EXPORT_TABLES } from "../../src/archive/export/tables.ts";
import { readRelations } from "../docs/columns.ts";
import type { Promised } from "./program.ts";

/** The comment of a view or a function that is not for people begins with this word. */
const INTERNAL = /^Internal\b/;

/** The columns of all views, and of the tables that `export` writes: the program keeps the others for itself. */
export async function promisedColumns(pool: pg.Pool): Promise<Promised> {
  const exported = new Set(EXPORT_TABLES.map(({ name }) => name));
  const relations = (await readRelations(pool)).filter(
    ({ name, kind, comment }) => (kind === "view" || exported.has(name)) && !INTERNAL.test(comment ?? ""),
  );
  return Object.fromEntries(
    relations.flatMap(({ name, kind, columns }) => [
      [name, `a ${kind}`],
      ...columns.map((column) => [`${name}.${column.name}`, column.type]),
    ]),
  );
}

/** `mode` is that of pg_proc.proargmodes, or `r`: what the function returns. */
type Parameter = { of: string; name: string; place: number; mode: string; type: string; standard: boolean };

const PARAMETERS = `
select p.proname || '/' || p.pronargs as of, coalesce(p.proargnames[a.place], '') as name, a.place::int,
       coalesce(p.proargmodes[a.place]::text, 'i') as mode,
       replace(format_type(a.type, null), 'timestamp with time zone', 'timestamptz') as type,
       a.place > p.pronargs - p.pronargdefaults as standard
from pg_proc p cross join lateral unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as a (type, place)
where p.oid = any ($1)
union all
select p.proname || '/' || p.pronargs, '', 0, 'r', format_type(p.prorettype, null), false from pg_proc p where p.oid = any ($1)
order by 1, 3`;

const FUNCTIONS = `
select p.oid, coalesce(obj_description(p.oid, 'pg_proc'), '') as comment from pg_proc p
where p.pronamespace = 'public'::regnamespace and p.prorettype <> 'trigger'::regtype
  and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;

/** The functions for people, their parameters, and the columns that they give. */
export async function promisedFunctions(pool: pg.Pool): Promise<Promised> {
  const { rows: functions } = await pool.query<{ oid: number; comment: string }>(FUNCTIONS);
  const oids = functions.filter(({ comment }) => !INTERNAL.test(comment)).map(({ oid }) => oid);
  const { rows: parameters } = await pool.query<Parameter>(PARAMETERS, [oids]);
  return Object.fromEntries(
    parameters.map(({ of, name, place, mode, type, standard }) => {
      if (mode === "r") return [of, `returns ${type}`];
      if (mode === "i")
        return [`${of}, parameter ${place} ${name}`, standard ? `${type}, has a default` : type];
      return [`${of}.${name}`, type];
    }),
  );
}
