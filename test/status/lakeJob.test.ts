/** The lake beside a collector: when it is written, and what is told of it. */
import { mkdirSync, readdirSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { lookAtLake } from "../../src/files/lake/whichLake.ts";
import { keepLake, lakeLine, readLakeState } from "../../src/status/lakeJob.ts";
import { run } from "../cli/edges.ts";
import { freshDatabase } from "../support/database.ts";
import { see } from "../support/observations.ts";
import { steppedClock } from "../support/steppedClock.ts";
import { tempDir } from "../support/tempDir.ts";
import { until } from "../support/until.ts";

async function job(dropsHot = false) {
  const { url, pool } = await freshDatabase();
  await pool.query(
    "insert into instruments (id, security_type, symbol, first_seen_at, last_seen_at) values (1, 'CS', 'AAPL', now(), now())",
  );
  await see(pool, { at: "2026-01-05 10:00", bid: "1.5", ask: "1.6", last: "1.55" });
  const [out, dataDir] = [join(tempDir(), "lake"), tempDir()];
  const env = { DATABASE_URL: url, QUOTEKEEPER_LAKE_DIR: out, QUOTEKEEPER_DATA_DIR: dataDir };
  const stepped = steppedClock();
  const said: string[] = [];
  const say = (fields: object, message: string): void =>
    void said.push(`${message} ${JSON.stringify(fields)}`);
  let runs = 0;
  const lake = keepLake({
    ...{ dataDir, dropsHot, clock: stepped.clock },
    log: { debug: say, info: say, warn: say, error: say },
    run: async (words) => {
      const outcome = await run([...words], env);
      runs += 1;
      return outcome;
    },
  });
  /** Goes on to the next look, and through it. */
  const look = async (): Promise<void> => {
    const before = runs;
    await until(() => stepped.asleep() > 0, "the job asleep");
    stepped.step();
    await until(() => runs > before && stepped.asleep() > 0, "a run having ended");
  };
  const line = async () => lakeLine(await readLakeState(dataDir), await lookAtLake(out, pool));
  return { pool, out, said, lake, look, line };
}

test("days that are over are written, a failure is told once, and it is tried again", async () => {
  const { out, said, lake, look, line } = await job();
  const nothing = await line();

  await look();
  const written = await line();
  writeFileSync(join(out, "lake.json"), "{}");
  await look();
  const failed = await line();
  await look();
  const tellings = said.filter((line) => line.startsWith("the lake could not be written")).length;
  const since = lake.state()?.failed?.since;
  await lake.close();

  expect([nothing.state, written]).toEqual([
    "idle",
    { subject: "lake", state: "ok", text: "all days through 2026-01-05" },
  ]);
  expect(failed).toMatchObject({
    state: "attention",
    text: expect.stringContaining("LAKE_INVALID") as unknown,
  });
  expect([tellings, since]).toEqual([1, "2026-11-22T06:50:00.000Z"]);
  expect(lake.state()?.through).toBe("2026-01-05");
});

test("while its disk is not mounted nothing is written and dropped, which is told, and afterwards it goes on", async () => {
  const { pool, out, lake, look, line } = await job(true);
  await look();
  renameSync(out, `${out}.disk`);
  mkdirSync(out);
  await see(pool, { at: "2026-01-12 10:00", bid: "1.5", ask: "1.6", last: "1.55" });

  await look();
  const away = await line();
  const left = [readdirSync(out), (await pool.query("select from quotes")).rowCount];
  rmdirSync(out);
  renameSync(`${out}.disk`, out);
  await look();
  await lake.close();

  expect(away).toMatchObject({
    state: "attention",
    text: expect.stringContaining("LAKE_MISSING: quotes of 2026-01-05 were dropped") as unknown,
  });
  expect(left).toEqual([[], 1]);
  expect(await line()).toMatchObject({ state: "ok", text: "all days through 2026-01-12" });
  expect((await pool.query("select from quotes")).rowCount).toBe(0);
});

test("quotes are dropped behind it where that is wanted, and quotes that the archive has lost are named, also by a run that fails later", async () => {
  const { pool, out, lake, look, line } = await job(true);

  await look();
  const left = (await pool.query("select from quotes")).rowCount;
  await pool.query("delete from dropped_days");
  await pool.query(
    `insert into late_days values ('2026-01-05', pg_current_xact_id(), clock_timestamp())
     on conflict (date) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
  );
  await look();
  const lost = await line();
  writeFileSync(join(out, "lake.json"), "{}");
  await look();
  await lake.close();

  expect(left).toBe(0);
  expect(lake.state()).toMatchObject({ kept: ["2026-01-05"], failed: { message: expect.any(String) } });
  expect(lost).toMatchObject({
    state: "attention",
    text: expect.stringContaining("fewer quotes of 2026-01-05 than the lake") as unknown,
  });
});
