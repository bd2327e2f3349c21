/**
 * `npm run docs` writes the generated pages; `npm run docs:check` writes nothing, and fails when one is stale. One page says what
 * a freshly migrated database says of itself: an embedded one is made for it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { databasePage, generatePages } = await import("./docs/pages.ts");
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");

const root = new URL("../", import.meta.url);
const check = process.argv.includes("--check");
for (const { path, text } of [...(await generatePages()), await pageOfMigrated()]) {
  if (contentOf(path) === text) continue;
  if (check) {
    console.error(`${path} is stale: run \`npm run docs\`.`);
    process.exitCode = 1;
  } else {
    writeFileSync(new URL(path, root), text);
    console.log(`wrote ${path}`);
  }
}

async function pageOfMigrated() {
  const server = await startTestServer();
  const pool = createPool(server.url, { max: 1 });
  try {
    await migrate(pool, "2026-01-01T00:00:00.000000Z");
    return await databasePage(pool);
  } finally {
    await pool.end();
    await server.close();
  }
}

function contentOf(path) {
  try {
    return readFileSync(new URL(path, root), "utf8");
  } catch {
    return null;
  }
}
