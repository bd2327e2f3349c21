/** What `status` says where the database does not answer, or does not run. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import type { StatusReport } from "../../src/status/statusJson.ts";
import { run } from "../cli/edges.ts";
import { createTestClock } from "../support/clock.ts";
import { freshDatabase } from "../support/database.ts";
import { tempDir } from "../support/tempDir.ts";

/** A server that accepts, and says nothing. */
const mute = createServer(() => undefined).listen(0, "127.0.0.1");
await once(mute, "listening");
afterAll(() => void mute.close());

function settings() {
  const jobs = tempDir();
  writeFileSync(join(jobs, "a.yaml"), 'name: a\nschedule: "* * * * *"\nsymbols: [AAPL]\n');
  return { QUOTEKEEPER_JOBS_DIR: jobs, QUOTEKEEPER_DATA_DIR: tempDir() };
}

test("beside a database that accepts and does not answer, files tell the market, jobs, collector, budget, answers and journal", async () => {
  const clock = createTestClock();
  const env = settings();
  await run(["poll", "--symbols", "AAPL,MSFT"], { ...env, DATABASE_URL: (await freshDatabase()).url }, clock);
  const { port } = mute.address() as AddressInfo;
  const silent = `postgresql://me:canary@127.0.0.1:${port}/quotes`;

  const { exitCode, stdout } = await run(["status", "--json"], { ...env, DATABASE_URL: silent }, clock);

  expect(exitCode).toBe(1);
  expect(stdout).not.toContain("canary");
  const report = JSON.parse(stdout) as StatusReport;
  expect(report.lines.map(({ subject, state }) => `${subject} ${state}`)).toEqual([
    ...["market ok", "jobs ok", "collector idle", "next poll idle", "database attention"],
    ...["budget ok", "answers ok", "journal ok"],
  ]);
  expect(report.lines[4]?.text).toMatch(/^DATABASE_UNREACHABLE: .* it does not answer within 3 s/);
  expect(report).toMatchObject({ budget: { calls: 1, limit: 60, serviceUsed: 1 }, lastHour: { quotes: 1 } });
});

test("an embedded server that does not run is said, and not started", async () => {
  const env = settings();
  mkdirSync(join(env.QUOTEKEEPER_DATA_DIR, "postgres"));
  writeFileSync(join(env.QUOTEKEEPER_DATA_DIR, "postgres", "PG_VERSION"), "18\n");

  const { exitCode, stdout } = await run(["status"], env);

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^database +- +embedded, not running; `quotekeeper start` starts it$/m);
  expect(stdout).toMatch(/^collector - +none has run yet/m);
});
