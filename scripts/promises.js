/**
 * `npm run build && node scripts/promises.js 1.0` writes down what this release promises, and what it prints, into
 * test/promises/1.0/. Later releases are compared with that (docs/promises.md). Record a new major version alone.
 * An archive belongs there, too: `node scripts/record-archive.js . SERVER test/promises/1.0/archive.sql.gz`.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { allowTypescript } from "../test/support/postgres/typescript.js";

allowTypescript();
const { startTestServer } = await import("../test/support/postgres/server.ts");
const { createPool } = await import("../src/archive/connect/connect.ts");
const { migrate } = await import("../src/archive/schema/migrations.ts");
const { allPromises } = await import("./promises/all.ts");
const { recordOutputs } = await import("./promises/outputs.ts");

const root = fileURLToPath(new URL("../", import.meta.url));
const [release] = process.argv.slice(2);
if (!/^\d+\.\d+$/.test(release ?? "")) throw new Error("name the release: node scripts/promises.js 1.0");
const into = join(root, "test", "promises", release);
rmSync(into, { recursive: true, force: true });
mkdirSync(into, { recursive: true });
const save = async (name, value) =>
  writeFileSync(
    join(into, `${name}.json`),
    await format(JSON.stringify(value), { parser: "json", printWidth: 110 }),
  );

const server = await startTestServer();
const pool = createPool(server.url);
const dir = mkdtempSync(join(tmpdir(), "quotekeeper-promises-"));
chmodSync(dir, 0o755);
try {
  await migrate(pool, "2026-11-20T00:00:00.000000Z");
  for (const [kind, promised] of Object.entries(await allPromises(root, pool))) await save(kind, promised);
  await save(
    "outputs",
    await recordOutputs(join(root, "bin", "quotekeeper.js"), { url: server.url, pool, dir }),
  );
  cpSync(join(dir, "data", "journal"), join(into, "journal"), { recursive: true });
} finally {
  await pool.end();
  await server.close();
  rmSync(dir, { recursive: true, force: true });
}
