/**
 * Looks into the database for the reason of an error that PostgreSQL's own message does not name: who made it read
 * only, which right is missing. Reads only.
 */
import type pg from "pg";
import { problemCodeOf } from "./databaseError.ts";
import type { Queryable } from "./transaction.ts";
import { QuotekeeperError } from "../../ground/errors.ts";
import { someNames } from "../../ground/figures.ts";

/** The error with its reason, where one is found; else the error as it came. Never rejects. */
export async function explain(pool: pg.Pool, error: unknown): Promise<unknown> {
  if (error instanceof QuotekeeperError) return error;
  const code = problemCodeOf(error);
  if (code === null) return error;
  let client: pg.PoolClient | undefined;
  try {
    client = await pool.connect();
    const reason =
      code === "DATABASE_READ_ONLY" ? await whyReadOnly(client) : await whichRight(client, error);
    return reason === null ? error : new QuotekeeperError(code, reason, { cause: error });
  } catch {
    // What cannot be asked any more, for instance for want of the right to connect, keeps its own words.
    return error;
  } finally {
    // A session keeps the settings it began with: the next attempt is not to be made on this one.
    client?.release(true);
  }
}

/** What a loader with connections like these would meet; null when it could write. Rejects as the database does. */
export async function findReadOnly(pool: pg.Pool): Promise<QuotekeeperError | null> {
  const reason = await whyReadOnly(pool);
  return reason === null ? null : new QuotekeeperError("DATABASE_READ_ONLY", reason);
}

const SETTING = "default_transaction_read_only";

/** What to type where a setting was made; its own sessions could not undo it otherwise. PostgreSQL's pg_settings.source. */
const UNDO: Readonly<Record<string, (database: string, role: string) => string>> = {
  database: (database) => `alter database ${database} reset ${SETTING}`,
  user: (_database, role) => `alter role ${role} reset ${SETTING}`,
  "database user": (database, role) => `alter role ${role} in database ${database} reset ${SETTING}`,
};

async function whyReadOnly(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{
    standby: boolean;
    read_only: boolean;
    source: string;
    database: string;
    role: string;
  }>(
    `select pg_is_in_recovery() as standby, setting = 'on' as read_only, source,
            quote_ident(current_database()::text) as database, quote_ident(current_user::text) as role
     from pg_settings where name = '${SETTING}'`,
  );
  const [found] = rows;
  if (!found) return null;
  const { standby, read_only: readOnly, source, database, role } = found;
  if (standby) return "the server is a standby and takes no writes: give the primary's address";
  if (!readOnly) return null;
  const undo = UNDO[source]?.(database, role);
  if (undo !== undefined)
    return `the database is set to read only for ${role}: run \`set ${SETTING} = off; ${undo};\``;
  if (source === "client")
    return `the connection itself asks for ${SETTING}: take it out of the options of DATABASE_URL or of PGOPTIONS`;
  return `the server is set to read only: turn ${SETTING} off in its configuration`;
}

const MOST_NAMES = 3;

async function whichRight(db: Queryable, error: unknown): Promise<string> {
  const { message } = error as Error;
  const { rows } = await db.query<{
    role: string;
    database: string;
    schema: string | null;
    may_create: boolean | null;
    foreign_tables: string[];
    owner: string | null;
  }>(
    `select quote_ident(current_user::text) as role, quote_ident(current_database()::text) as database,
            quote_ident(current_schema()::text) as schema,
            has_schema_privilege(current_schema(), 'create') as may_create,
            coalesce(array_agg(relname::text order by relname) filter (where relname is not null), '{}')
              as foreign_tables,
            min(pg_get_userbyid(relowner)) as owner
     from (select) one
     left join pg_class on relnamespace = to_regnamespace(quote_ident(current_schema()::text))
       and relkind in ('r', 'p', 'v', 'm', 'f') and not relispartition
       and not pg_has_role(current_user, relowner, 'usage')`,
  );
  const [found] = rows;
  if (!found) return message;
  const { role, database, schema, may_create: mayCreate, foreign_tables: tables, owner } = found;
  if (schema === null)
    return `the role ${role} may use no schema of its search path: run \`grant usage, create on schema public to ${role}\``;
  if (mayCreate === false)
    return `the role ${role} may not create tables in the schema ${schema} of ${database}: run \`grant create on schema ${schema} to ${role}\``;
  if (tables.length === 0) return `${message} (the role is ${role})`;
  return (
    `${message}: the role ${role} does not own ${someNames(tables, MOST_NAMES)}, which ${owner} does: ` +
    `use that role if this is an archive of quotekeeper's, else a database of its own`
  );
}
