/**
 * The staging tables of a connection: COPY fills them, and Drizzle stores from there. So what is written is the schema in code
 * (schema.ts). Rows go in the order of their keys: neighbours in the index are written together, and two loaders that write the same
 * rows never wait for each other crosswise.
 */
import { count, getTableName } from "drizzle-orm";
import { type PgColumn, type PgTable, pgTable } from "drizzle-orm/pg-core";
import type pg from "pg";
import { extendedColumns, extendedQuotes, quoteColumns, quotes } from "../schema/schema.ts";
import { allColumns, tablesOn } from "../schema/tableRows.ts";
import { copyInto, copyLine } from "./copyInto.ts";

const STAGED = {
  quotes: { from: pgTable("staged_quotes", quoteColumns()), into: quotes },
  extendedQuotes: { from: pgTable("staged_extended_quotes", extendedColumns()), into: extendedQuotes },
};

type StagedTable = keyof typeof STAGED;

type Key = Record<"instrumentId" | "observedAt" | "sourceId", PgColumn>;
type KeyedTable = PgTable & Key;

const keyOf = ({ instrumentId, observedAt, sourceId }: Key): [PgColumn, PgColumn, PgColumn] => [
  instrumentId,
  observedAt,
  sourceId,
];

/** Stores the staged rows of a table, prepared; it gives how many rows it has put in. */
function statementOn(
  client: pg.ClientBase,
  name: string,
  { from, into }: { from: KeyedTable; into: KeyedTable },
) {
  const db = tablesOn(client);
  const rows = db
    .select()
    .from(from as PgTable)
    .orderBy(...keyOf(from));
  const insert = db
    .insert(into as PgTable)
    .select(rows)
    .onConflictDoNothing();
  // Citus counts the rows that an insert was given. What is returned is a row that was put in.
  const stored = db.$with("stored").as(insert.returning({ id: into.instrumentId }));
  return db.with(stored).select({ rows: count() }).from(stored).prepare(`store ${name}`);
}

function statementsOn(client: pg.ClientBase) {
  return {
    quotes: statementOn(client, "quotes", STAGED.quotes),
    extendedQuotes: statementOn(client, "extended quotes", STAGED.extendedQuotes),
  };
}

type Connection = { statements: ReturnType<typeof statementsOn>; filled: Set<StagedTable> };

/** A temporary table lasts as long as its connection. */
const connections = new WeakMap<pg.ClientBase, Connection>();

/** Makes the staging tables of a connection, outside of any transaction. They are empty whenever one begins. */
export async function prepareStaging(client: pg.ClientBase): Promise<void> {
  const known = connections.get(client);
  if (known !== undefined) return known.filled.clear();
  const made = Object.values(STAGED).map(
    ({ from, into }) =>
      `create temp table if not exists ${getTableName(from)} (like ${getTableName(into)} including defaults) on commit delete rows`,
  );
  // It says that a table is there already.
  await client.query(`begin; set local client_min_messages = warning; ${made.join("; ")}; commit`);
  connections.set(client, { statements: statementsOn(client), filled: new Set() });
}

/**
 * Stores rows: those that are there already stay as they are.
 *
 * @param client in a transaction, its connection after `prepareStaging`
 * @param rows values in the order of the table's columns, as texts
 * @returns how many were not there before
 */
export async function storeRows(
  client: pg.ClientBase,
  table: StagedTable,
  rows: readonly (readonly (string | null)[])[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const { statements, filled } = connections.get(client) as Connection;
  const staged = getTableName(STAGED[table].from);
  if (filled.has(table)) await client.query(`truncate ${staged}`);
  filled.add(table);
  const lines = function* (): Generator<string> {
    for (const row of rows) yield copyLine(row);
  };
  await copyInto(client, `copy ${staged} (${allColumns(STAGED[table].from)}) from stdin`, lines());
  const [stored] = await statements[table].execute();
  return stored?.rows ?? 0;
}
