/**
 * `node scripts/dump-schema.js` writes test/schema.sql from a freshly migrated embedded database; with `--check` it
 * writes nothing, and fails when the file is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");
const { dumpSchema } = await import("./schema/dump.ts");

const file = new URL("../test/schema.sql", import.meta.url);
const server = await startTestServer();
const pool = createPool(server.url, { max: 1 });
try {
  await migrate(pool, "2026-01-01T00:00:00.000000Z");
  const text = await dumpSchema(pool);
  if (process.argv.includes("--check")) {
    if (readFileSync(file, "utf8") !== text) {
      console.error("test/schema.sql is stale: run `node scripts/dump-schema.js`.");
      process.exitCode = 1;
    }
  } else writeFileSync(file, text);
} finally {
  await pool.end();
  await server.close();
}
