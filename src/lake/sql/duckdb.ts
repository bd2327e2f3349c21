/** DuckDB, which is an optional package: loaded when a statement is asked, and by nothing else. */
import type * as DuckDb from "@duckdb/node-api";
import { QuotekeeperError } from "../../errors.ts";

/** A database in memory, of one statement. */
type Duck = {
  connection: DuckDb.DuckDBConnection;
  close: () => void;
};

/** Memory that DuckDB takes before it goes to the disk. */
const MEMORY = "1GB";

/**
 * @param tempDir where it puts what does not fit into memory
 * @param load gives the package; tests give another
 * @throws QuotekeeperError DUCKDB_MISSING
 */
export async function openDuck(
  tempDir: string,
  load: () => Promise<Pick<typeof DuckDb, "DuckDBInstance">> = () => import("@duckdb/node-api"),
): Promise<Duck> {
  const { DuckDBInstance } = await load().catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new QuotekeeperError(
      "DUCKDB_MISSING",
      `@duckdb/node-api cannot be loaded (${code ?? message.split("\n")[0]})`,
      { cause: error },
    );
  });
  const instance = await DuckDBInstance.create(":memory:", { memory_limit: MEMORY, temp_directory: tempDir });
  const connection = await instance.connect();
  return {
    connection,
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** What DuckDB says when the machine, and not the statement, is in the way. */
const OF_THE_MACHINE =
  /^(Out of Memory|IO|Fatal|Internal|Invalid Input Error: No magic bytes|TransactionContext)/u;

/** DuckDB's errors, by whose fault they are. Others are left as they are. */
export function duckError(error: unknown): unknown {
  if (error instanceof QuotekeeperError || !(error instanceof Error)) return error;
  const [first = "", ...more] = error.message.split("\n").filter((line) => line.trim() !== "");
  if (!/^[A-Z]\w*( \w+)* Error: /u.test(first)) return error;
  const code = /^Permission Error/u.test(first)
    ? "SQL_REFUSED"
    : OF_THE_MACHINE.test(first)
      ? "SQL_FAILED"
      : "SQL_WRONG";
  return new QuotekeeperError(code, first, { problems: more, cause: error });
}
