/** `node scripts/sql-page.js` asks the questions of docs/sql.md anew and writes their results into the page. */
import { readFileSync, writeFileSync } from "node:fs";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");
const { fillFixture } = await import("./sql/fixture.ts");
const { answerPage } = await import("./sql/page.ts");

const file = new URL("../docs/sql.md", import.meta.url);
const server = await startTestServer();
const pool = createPool(server.url, { max: 1 });
try {
  await migrate(pool, "2026-11-20T00:00:00.000000Z");
  await fillFixture(pool);
  writeFileSync(file, await answerPage(readFileSync(file, "utf8"), pool));
} finally {
  await pool.end();
  await server.close();
}
