/** What people ask in SQL: tables, views and functions of a migrated database. */
import type pg from "pg";
import { EXPORT_TABLES } from "../../src/archive/export/tables.ts";
import { readRelations } from "../docs/columns.ts";
import type { Promised } from "./lists.ts";

/** With this word begins what the database says of things that are not for people. */
const INTERNAL = /^Internal\b/;

/** The columns of all views, and of the tables that `export` writes: the program keeps the others for itself. */
export async function promisedColumns(pool: pg.Pool): Promise<Promised> {
  const exported = new Set(EXPORT_TABLES.map(({ name }) => name));
  const relations = (await readRelations(pool)).filter(
    ({ name, kind, comment }) => (kind === "view" || exported.has(name)) && !INTERNAL.test(comment ?? ""),
  );
  return Object.fromEntries(
    relations.flatMap(({ name, kind, columns }) => [
      [name, { kind }],
      ...columns.map((column) => [`${name}.${column.name}`, { type: column.type }]),
    ]),
  );
}

type Parameter = { name: string; place: number; mode: string; type: string; standard: boolean };

/** Functions for people, their parameters, and the columns of what they give. */
export async function promisedFunctions(pool: pg.Pool): Promise<Promised> {
  const { rows } = await pool.query<{ name: string; comment: string; parameters: Parameter[] }>(
    `select p.proname || '/' || p.pronargs as name, obj_description(p.oid, 'pg_proc') as comment,
            (
              select coalesce(jsonb_agg(jsonb_build_object(
                'name', coalesce(p.proargnames[n], ''), 'place', n, 'mode', coalesce(p.proargmodes[n]::text, 'i'),
                'type', replace(format_type(t, null), 'timestamp with time zone', 'timestamptz'),
                'standard', n > p.pronargs - p.pronargdefaults and n <= p.pronargs
              ) order by n), '[]')
              from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as a (t, n)
            ) || jsonb_build_object(
              'name', '', 'place', 0, 'mode', 'r', 'type', format_type(p.prorettype, null), 'standard', false
            ) as parameters
     from pg_proc p
     where p.pronamespace = 'public'::regnamespace and p.prorettype <> 'trigger'::regtype
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
     order by name`,
  );
  return Object.fromEntries(
    rows
      .filter(({ comment }) => !INTERNAL.test(comment))
      .flatMap(({ name, parameters }) => parameters.map((one) => [nameOf(name, one), factsOf(one)])),
  );
}

function nameOf(of: string, { name, place, mode }: Parameter): string {
  if (mode === "r") return of;
  return mode === "i" ? `${of} (${place}: ${name})` : `${of}.${name}`;
}

function factsOf({ mode, type, standard }: Parameter): Record<string, string> {
  const given = type.replace("timestamp with time zone", "timestamptz");
  return mode === "i" ? { type: given, default: standard ? "has one" : "none" } : { type: given };
}
