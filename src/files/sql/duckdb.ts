/**
 * DuckDB, which is an optional package: loaded when a statement is asked, and by nothing else. What goes in and comes out is
 * plain values, for it runs in a process of its own (duckProcess.ts).
 */
import type * as DuckDb from "@duckdb/node-api";
import { QuotekeeperError } from "../../ground/errors.ts";
import { columnOf, jsonOfType, type JsonValue, type SqlColumn } from "./values.ts";

/**
 * DuckDB with one database in memory. One thing is asked at a time. Each of its methods throws QuotekeeperError SQL_WRONG, SQL_REFUSED
 * or SQL_FAILED in DuckDB's words.
 */
export type Duck = {
  /**
   * Begins an empty database; the one before is gone.
   *
   * @param tempDir where DuckDB puts what does not fit into memory
   * @throws QuotekeeperError DUCKDB_MISSING
   */
  open: (tempDir: string) => Promise<void>;
  /** Runs statements, with semicolons between them. */
  run: (statements: string) => Promise<void>;
  /** Begins with a statement whose rows `next` gives. @returns the answer's columns */
  begin: (statement: string) => Promise<SqlColumn[]>;
  /** Some rows of the answer; null: there are no more. */
  next: () => Promise<JsonValue[][] | null>;
  /** Ends all of it, whatever it is at work on, and waits for that. Twice is once. */
  close: () => Promise<void>;
};

export type DuckRequest = { ask: "open" | "run" | "begin" | "next"; text: string };

/** Memory that DuckDB takes before it goes to the disk. */
const MEMORY = "1GB";

const INTERRUPT_EVERY_MS = 100;

/**
 * DuckDB in this process.
 *
 * @param load gives the package; tests give another
 */
export function ownDuck(
  load: () => Promise<Pick<typeof DuckDb, "DuckDBInstance">> = () => import("@duckdb/node-api"),
): Duck {
  let database: { instance: DuckDb.DuckDBInstance; connection: DuckDb.DuckDBConnection } | null = null;
  let answer: { result: DuckDb.DuckDBResult; json: ReturnType<typeof jsonOfType>[] } | null = null;
  let pending: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  const letGo = (): void => {
    answer = null;
    database?.connection.closeSync();
    database?.instance.closeSync();
    database = null;
  };
  const asked = <T>(work: Promise<T>): Promise<T> => {
    pending = work.catch(() => undefined);
    return work.catch(asDuckError);
  };
  const connection = (): DuckDb.DuckDBConnection => {
    if (!database) throw new QuotekeeperError("UNEXPECTED", "no database is open");
    return database.connection;
  };
  return {
    open: async (tempDir) => {
      letGo();
      const { DuckDBInstance } = await load().catch(missing);
      const settings = { memory_limit: MEMORY, temp_directory: tempDir };
      const instance = await DuckDBInstance.create(":memory:", settings).catch(asDuckError);
      database = { instance, connection: await instance.connect() };
      // Whoever closes it between two questions means those that would come as well.
      if (isClosed) letGo();
    },
    run: async (statements) => void (await asked(connection().run(statements))),
    begin: async (statement) => {
      const result = await asked(connection().stream(statement));
      const types = result.columnTypes();
      answer = { result, json: types.map(jsonOfType) };
      return result.deduplicatedColumnNames().map((name, place) => columnOf(name, types[place] as never));
    },
    next: async () => {
      if (!answer) throw new QuotekeeperError("UNEXPECTED", "nothing is asked");
      const { result, json } = answer;
      const chunk = await asked(result.fetchChunk());
      if (!chunk || chunk.rowCount === 0) return null;
      return chunk.getRows().map((row) => json.map((of, place) => of(row[place] ?? null)));
    },
    close: async () => {
      isClosed = true;
      // One that comes just before DuckDB begins with a statement is forgotten by it.
      const interrupt = (): void => database?.connection.interrupt();
      const again = setInterval(interrupt, INTERRUPT_EVERY_MS);
      interrupt();
      await pending;
      clearInterval(again);
      letGo();
    },
  };
}

function missing(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  const why = `@duckdb/node-api cannot be loaded (${code ?? message.split("\n")[0]})`;
  throw new QuotekeeperError("DUCKDB_MISSING", why, { cause: error });
}

/** All rows of a short answer. */
export async function rowsOf(duck: Duck, statement: string): Promise<JsonValue[][]> {
  await duck.begin(statement);
  const all: JsonValue[][] = [];
  for (let rows = await duck.next(); rows !== null; rows = await duck.next()) all.push(...rows);
  return all;
}

/** What DuckDB says when the machine, and not the statement, is in the way. */
const OF_THE_MACHINE =
  /^(Out of Memory|IO|Fatal|Internal|Invalid Input Error: No magic bytes|TransactionContext)/u;

/** What the package puts before DuckDB's own words. */
const OF_THE_PACKAGE = /^Failed to extract statements: /u;

/** What DuckDB's own words begin with. */
export const OF_DUCKDB = /^[A-Z]\w*( \w+)* Error: /u;

/** DuckDB's errors, by whose fault they are. Others are left as they are. */
function asDuckError(error: unknown): never {
  const message = String((error as Error).message).replace(OF_THE_PACKAGE, "");
  const [first = "", ...more] = message.split("\n").filter((line) => line.trim() !== "");
  if (!OF_DUCKDB.test(first)) throw error;
  const code = /^Permission Error/u.test(first)
    ? "SQL_REFUSED"
    : OF_THE_MACHINE.test(first)
      ? "SQL_FAILED"
      : "SQL_WRONG";
  throw new QuotekeeperError(code, first, { problems: more, cause: error });
}
