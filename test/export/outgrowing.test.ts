import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { fillFixture } from "../../scripts/sql/fixture.ts";
import { run } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";
import { duckdbRows } from "./duckdb.ts";

const page = readFileSync(new URL("../../docs/outgrowing.md", import.meta.url), "utf8");
const out = join(tempDir(), "export");
const { pool, url } = await freshDatabase();
await fillFixture(pool);
const exported = await run(["export", "--format", "parquet", "--out", out], { DATABASE_URL: url });

/** DuckDB's statements: those of its own part, and the one at the end. */
const statements = [...page.matchAll(/```sql\n([\s\S]*?)```/g)]
  .map(([, sql = ""]) => sql)
  .filter((sql) => sql.includes("read_parquet"));

test("the page shows five statements for DuckDB", () => {
  expect(exported.exitCode).toBe(0);
  expect(statements).toHaveLength(5);
});

test.each(statements)("DuckDB answers as the page says:\n%s", async (sql) => {
  const rows = await duckdbRows(sql.replaceAll("'export", `'${out}`));

  expect(rows.length).toBeGreaterThan(0);
  expect(Object.values(rows.at(-1) ?? {})).not.toContain(null);
});
