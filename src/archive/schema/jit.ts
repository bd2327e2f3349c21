/**
 * JIT of PostgreSQL, off in the archive. Compiling the many small branches of a view takes seconds to minutes, answering it
 * milliseconds. The program's sessions say so themselves; people's tools begin with the settings of the database or of their role.
 */
import type pg from "pg";
import { READER } from "../connect/fixedNames.ts";
import { transactionOn } from "../connect/transaction.ts";
import { isOnCitus } from "../tiers/citus/isOnCitus.ts";

/** Whether somebody has set jit for roles, 0: for all of them, in this database. */
const isSet = (role: string): string =>
  `exists (select from pg_db_role_setting s, unnest(s.setconfig) c
           where s.setrole = ${role} and s.setdatabase in (0, d.oid) and c like 'jit=%')`;

/** Also on a server without LLVM, which a package may bring later. A setting of the server's own file or start stays too. */
const WANTED = `
  select pg_catalog.format('alter database %I set jit = off', d.datname) as remedy, pg_jit_available() as compiles,
    case when pg_has_role(d.datdba, 'usage')
      then array[pg_catalog.format('alter database %I set jit = off', d.datname)]
      else array(
        select pg_catalog.format('alter role %I in database %I set jit = off', r.rolname, d.datname) from pg_roles r
        where r.rolname in (session_user, '${READER}') and not ${isSet("r.oid")}
      )
    end as statements
  from pg_database d
  where d.datname = current_database() and not ${isSet("0")}
    and (select source from pg_settings where name = 'jit') in ('default', 'user', 'database user')`;

/** What each worker does for itself: there the tables of an archive on Citus are read. */
const onWorker = (remedy: string): string => `
  do $do$ begin
    if not exists (select from pg_database d where d.datname = current_database() and ${isSet("0")}) then
      ${remedy};
    end if;
  end $do$`;

/**
 * Sets jit to off for the database where this session's user owns it, else for its own role and the reader's, unless somebody has set
 * either. Sessions that begin later have it.
 *
 * @returns null, or what an administrator should do where the user may not
 */
export async function settleJit(client: pg.PoolClient): Promise<string | null> {
  const wanted = await transactionOn(client, async () => {
    // As a session begins that says nothing of it.
    await client.query("set local jit to default");
    return client.query<{ remedy: string; compiles: boolean; statements: string[] }>(WANTED);
  });
  const [found] = wanted.rows;
  if (!found) return null;
  const { remedy, compiles, statements } = found;
  let isDone = true;
  for (const statement of statements)
    await client.query(statement).catch(() => {
      isDone = false;
    });
  if (statements[0] === remedy && isDone && (await isOnCitus(client)))
    await client.query("select run_command_on_workers($1)", [onWorker(remedy)]);
  return isDone || !compiles
    ? null
    : `JIT is on here and makes questions to the archive take seconds to minutes: have an administrator run \`${remedy}\`.`;
}
