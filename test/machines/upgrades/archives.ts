/** Databases for archives, and what is in them. */
import pg from "pg";
import { citusNodes, joinCitus } from "../../support/postgres/citusNodes.ts";
import { execute } from "../../support/postgres/server.ts";
import { promised } from "../programs.ts";

/** The servers of a cluster, its coordinator first; of any other server itself. */
export async function nodesOf(server: string): Promise<string[]> {
  return citusNodes(server).catch(() => [server]);
}

/** What `migrate` is told on a server so that the archive is on its tier. */
export async function wishesOn(server: string): Promise<string[]> {
  return (await nodesOf(server)).length > 1 ? ["--to-citus"] : [];
}

export type Database = { url: string; drop: () => Promise<void> };

/** Makes a database on a server, on each node of a cluster. */
export async function makeDatabase(server: string, name: string): Promise<Database> {
  const made = await onEachNode(server, name, (own) => [`create database ${own} template template0`]);
  if (made.urls.length > 1) await joinCitus(made.urls);
  return { url: made.urls[0] ?? server, drop: made.drop };
}

/** Copies a database that `makeDatabase` has made, file by file. @param tablespace where the copy is; each node has it */
export async function copyDatabase(
  server: string,
  { from, name, tablespace = "pg_default" }: { from: string; name: string; tablespace?: string },
): Promise<Database> {
  const made = await onEachNode(server, name, (own) => [
    // Workers of TimescaleDB and Citus come back into a database that may be entered.
    `alter database ${named(from)} allow_connections false`,
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${named(from)}'`,
    `create database ${own} template ${named(from)} strategy file_copy tablespace ${tablespace}`,
    `alter database ${named(from)} allow_connections true`,
  ]);
  return { url: made.urls[0] ?? server, drop: made.drop };
}

async function onEachNode(
  server: string,
  name: string,
  statements: (own: string) => string[],
): Promise<{ urls: string[]; drop: () => Promise<void> }> {
  const nodes = await nodesOf(server);
  const own = named(name);
  for (const node of nodes) await execute(node, statements(own));
  const drop = async (): Promise<void> => {
    for (const node of nodes) await execute(node, [`drop database if exists ${own} with (force)`]);
  };
  return { urls: nodes.map((node) => Object.assign(new URL(node), { pathname: `/${own}` }).href), drop };
}

function named(name: string): string {
  return `quotekeeper_upgrades_${process.pid}_${name}`;
}

/** The rows of a question. */
export async function ask(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

const KEPT = [
  ...["quotes", "extended_quotes", "dividends", "responses", "slots", "misses"],
  ...["bars_1d", "bars_5m", "latest_quotes"],
];

/**
 * Columns of a table; numbers without zeros at their end, for a bar may be of kept ones or of quotes. The session of a bar is no value of
 * quotes: migration 0022 has made each date of the simulated market a regular session.
 */
const COLUMNS = `
select string_agg(format(case when format_type(atttypid, null) = 'numeric' then 'trim_scale(%I)' else '%I' end, attname), ', '
       order by attnum) as columns
from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attname <> 'session'`;

/** A digest of all rows of the tables and views that readers ask, by a question that is the same in each later release. */
export type Digest = { question: string; rows: Record<string, string> }[];

/** @param columns as of an earlier digest, so that columns that came later are left out */
export async function digestOf(url: string, columns: Digest = []): Promise<Digest> {
  const digest: Digest = [];
  for (const [place, table] of KEPT.entries()) {
    const [found] = columns.length > 0 ? [] : await ask(url, COLUMNS, [table]);
    const question =
      columns[place]?.question ??
      `select count(*)::text as n, sum(hashtextextended(row(${String(found?.["columns"])})::text, 0)::numeric)::text as sum from ${table}`;
    const [rows] = await ask(url, question);
    digest.push({ question, rows: { table, ...(rows as Record<string, string>) } });
  }
  return digest;
}

/** @throws Error when any row or bar is another than it was */
export async function expectSame(url: string, before: Digest, when: string): Promise<void> {
  const now = await digestOf(url, before);
  for (const [place, { rows }] of before.entries())
    promised(
      JSON.stringify(now[place]?.rows) === JSON.stringify(rows),
      `${when}: ${rows["table"]} as it was (${JSON.stringify(rows)})`,
      now[place]?.rows,
    );
}

/** The newest version that was applied. */
export async function versionOf(url: string): Promise<number> {
  const [row] = await ask(url, "select max(version) as version from schema_migrations");
  return Number(row?.["version"]);
}
