/** DuckDB as the second opinion: another program reads what was exported. */
import { DuckDBInstance } from "@duckdb/node-api";

/** Rows of a query; every value is text, as DuckDB writes it, NULL is null. */
export async function duckdbRows(sql: string): Promise<Record<string, string | null>[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    await connection.run("set TimeZone = 'UTC'");
    const reader = await connection.runAndReadAll(sql);
    return reader
      .getRowObjects()
      .map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
        ),
      );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
