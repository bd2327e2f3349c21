/** `node scripts/cookbook.js` does the tasks of docs/cookbook.md anew: writes their answers into the page, and draws their pictures. */
import { readFileSync, writeFileSync } from "node:fs";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");
const { fillCookbook } = await import("./cookbook/archive.ts");
const { answerTask, readTasks } = await import("./cookbook/page.ts");
const { withResult } = await import("./sql/page.ts");

const file = new URL("../docs/cookbook.md", import.meta.url);
const server = await startTestServer();
const pool = createPool(server.url, { max: 1 });
try {
  await migrate(pool, "2026-11-20T00:00:00.000000Z");
  await fillCookbook(pool);
  let page = readFileSync(file, "utf8");
  for (const task of readTasks(page)) {
    const { result, svg } = await answerTask(pool, task);
    page = withResult(page, task, result);
    writeFileSync(new URL(`images/cookbook/${task.picture}`, file), svg);
  }
  writeFileSync(file, page);
} finally {
  await pool.end();
  await server.close();
}
