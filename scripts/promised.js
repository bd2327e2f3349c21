/**
 * `node scripts/promised.js` writes down what this release promises (docs/promises.md) into test/promised/VERSION.json, with which
 * test/promised/promised.test.ts compares each later commit. Until the first publication a promise may change: say so in the
 * CHANGELOG, and run it again. A record of a published release is never written again.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");
const { promisesOf } = await import("./promised/record.ts");

const root = fileURLToPath(new URL("../", import.meta.url));
const server = await startTestServer();
const pool = createPool(server.url, { max: 1 });
try {
  await migrate(pool, "2026-01-01T00:00:00.000000Z");
  const record = await promisesOf(root, pool);
  const file = `test/promised/${record.release}.json`;
  writeFileSync(`${root}${file}`, await format(JSON.stringify(record), { parser: "json", printWidth: 110 }));
  console.log(`wrote ${file}`);
} finally {
  await pool.end();
  await server.close();
}
