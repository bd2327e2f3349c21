/** A server that is a standby: it follows a primary, can be read, and takes no writes until it is promoted. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createPool } from "../../src/archive/connect/connect.ts";
import { runProgram } from "../../src/cli/program.ts";
import { rowsOfQuery } from "../support/archive.ts";
import { patientClock } from "../support/clock.ts";
import { openOwnServer, type OwnServer, reopenOwnServer } from "../support/postgres/server.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";
import { capturedEdges, run } from "./edges.ts";

// Its directory is no tempDir(): that one would go before the server has ended.
const serverDir = mkdtempSync(join(tmpdir(), "quotekeeper-standby-"));
let server: OwnServer;
beforeAll(async () => {
  // PostgreSQL does not run as root but as another user, who has to get in.
  chmodSync(serverDir, 0o755);
  const before = await openOwnServer(serverDir);
  const migrated = await run(["migrate"], { DATABASE_URL: before.url });
  await before.close();
  expect(migrated.exitCode).toBe(0);
  // It now waits for a primary, as one does whose primary is away.
  writeFileSync(join(serverDir, "postgres", "standby.signal"), "");
  server = await reopenOwnServer(serverDir);
}, 120_000);
afterAll(async () => {
  await server.close();
  rmSync(serverDir, { recursive: true, force: true, maxRetries: 10 });
});

test("a standby database is named and read; collecting continues into the journal, and everything is loaded once it is promoted", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "jobs"));
  writeFileSync(
    join(dir, "jobs", "job.yaml"),
    'name: job\nschedule: "* * * * *"\nsession: always\nsymbols: [MSFT]\n',
  );
  const env = {
    DATABASE_URL: server.url,
    QUOTEKEEPER_DATA_DIR: join(dir, "data"),
    QUOTEKEEPER_JOBS_DIR: join(dir, "jobs"),
  };
  const NAMED =
    /DATABASE_READ_ONLY: 127\.0\.0\.1:\d+\/quotekeeper: the server is a standby .*give the primary's address/;

  const migrated = await run(["migrate"], env);
  const polled = await run(["poll", "--symbols", "AAPL"], env);
  const status = await run(["status"], env);
  const coverage = await run(["coverage"], env);
  const { clock, passWaits } = patientClock();
  const { edges, stderr, interrupt } = capturedEdges({ env, clock });
  const ended = runProgram(["collect"], edges);
  await until(() => existsSync(join(dir, "data", "loader.json")), "a loader that is stuck");

  for (const { exitCode, stdout, stderr: said } of [migrated, polled, status]) {
    expect(exitCode).toBe(1);
    expect(stdout + said).toMatch(NAMED);
  }
  expect(coverage.exitCode).toBe(0);
  expect(stderr()).toMatch(NAMED);

  const pool = createPool(server.url);
  await pool.query("select pg_promote()");
  await until(() => {
    passWaits();
    return !existsSync(join(dir, "data", "loader.json"));
  }, "everything loaded");
  const healthy = await run(["status"], env);
  interrupt();
  const exitCode = await ended;
  const rows = await rowsOfQuery(pool, "select 1 from responses");
  await pool.end();

  expect(healthy.stdout).toMatch(/^database +ok /m);
  expect(exitCode).toBe(0);
  expect(rows.length).toBeGreaterThanOrEqual(2);
});
