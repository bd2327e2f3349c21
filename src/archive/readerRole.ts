/**
 * The role `quotekeeper_reader`, with which people's tools read the archive. Migrations make it where the database's
 * user may make roles. Where it was made later, by somebody else, it gets its rights here.
 */
import type pg from "pg";

const READER = "quotekeeper_reader";

/** 42501 insufficient_privilege, 42710 duplicate_object and 23505 unique_violation: made at the same moment elsewhere. */
const NOT_OURS_TO_MAKE = "42501";
const MADE_MEANWHILE = new Set(["42710", "23505"]);

/**
 * Makes the role if that is allowed, and lets it read what the user of this session owns.
 *
 * @param client holds the migration lock
 * @returns null when the role can read the archive, else why there is none and what to do
 */
export async function settleReader(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ role: string; may_make: boolean; there: boolean }>(
    `select quote_ident(rolname) as role, rolcreaterole or rolsuper as may_make,
            exists (select from pg_roles where rolname = '${READER}') as there
     from pg_roles where rolname = current_user`,
  );
  const { role, may_make: mayMake, there } = rows[0] ?? { role: "?", may_make: false, there: false };
  if (!there && !(mayMake && (await makeReader(client)))) return without(role);
  await grantReading(client);
  return null;
}

/** What `status` says of it; null when there is such a role. */
export async function readWithoutReader(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query<{ there: boolean }>(
    `select exists (select from pg_roles where rolname = '${READER}') as there`,
  );
  return rows[0]?.there ? null : `no role ${READER}: ${remedy}`;
}

const remedy = `have an administrator run \`create role ${READER}\`, then run \`quotekeeper migrate\``;

function without(role: string): string {
  return `There is no role ${READER} for people's tools, for ${role} may not make roles: ${remedy}. All else works without it.`;
}

async function makeReader(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query(`create role ${READER}`);
    return true;
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (MADE_MEANWHILE.has(code)) return true;
    if (code !== NOT_OURS_TO_MAKE) throw error;
    return false;
  }
}

/** Once, when it can read nothing yet: what an operator took from it later stays taken. */
async function grantReading(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ schema: string; relations: string | null }>(
    `select quote_ident(current_schema()) as schema, string_agg(oid::regclass::text, ', ') as relations
     from pg_class
     where relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p', 'v', 'm')
       and pg_has_role(current_user, relowner, 'usage')
       and not has_table_privilege('${READER}', 'sources', 'select')`,
  );
  const [{ schema, relations } = { schema: "public", relations: null }] = rows;
  if (relations === null) return;
  await client.query(
    `grant usage on schema ${schema} to ${READER};
     grant select on ${relations} to ${READER};
     alter default privileges in schema ${schema} grant select on tables to ${READER}`,
  );
}
