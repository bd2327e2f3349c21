import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { fillFixture } from "../../../scripts/sql/fixture.ts";
import { run } from "../../cli/edges.ts";
import { rowsOfQuery } from "../../support/archive.ts";
import { freshDatabase } from "../../support/database.ts";
import { tempDir } from "../../support/tempDir.ts";
import { duckdbRows } from "./duckdb.ts";

const pages = ["databases", "lake"]
  .map((name) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8"))
  .join("\n");
const lake = join(tempDir(), "lake");
const { pool, url } = await freshDatabase();
await fillFixture(pool);
const written = await run(["lake", "--out", lake], { DATABASE_URL: url });

const statements = [...pages.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = ""]) => sql);
const duckdb = statements.filter((sql) => sql.includes("read_parquet"));

test("the pages show five statements for DuckDB", () => {
  expect(written.exitCode).toBe(0);
  expect(duckdb).toHaveLength(5);
});

test.each(duckdb)("DuckDB answers as the page says:\n%s", async (sql) => {
  const rows = await duckdbRows(sql.replaceAll("'lake/", `'${lake}/`));

  expect(rows.length).toBeGreaterThan(0);
  expect(Object.values(rows.at(-1) ?? {})).not.toContain(null);
});

test("the page's question about the pace of an archive counts what is there, and a reader may ask it", async () => {
  const [sql = ""] = statements.filter((one) => one.includes("pg_database_size"));

  const [pace] = await asReader(sql);

  const [counted] = await rowsOfQuery(
    pool,
    `select round(count(*) / 3.0)::text as a_day, round(pg_database_size(current_database())::numeric / count(*))::text as bytes from quotes`,
  );
  expect(pace).toMatchObject({ quotes_a_day: counted?.["a_day"], bytes_a_quote: counted?.["bytes"] });
  expect(Number(pace?.["gb_a_year"])).toBeGreaterThan(0);
});

async function asReader(sql: string): Promise<Record<string, unknown>[]> {
  const client = await pool.connect();
  await client.query("set role quotekeeper_reader");
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.query("reset role");
  client.release();
  return rows;
}
