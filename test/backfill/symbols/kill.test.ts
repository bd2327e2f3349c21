/** A sweep that is killed at any moment goes on where it stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../src/ground/clock.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { run } from "../../cli/edges.ts";
import { startSimulatedService } from "../../support/simulatedService.ts";
import { tempDir } from "../../support/tempDir.ts";
import { until } from "../../support/until.ts";
import { backfillWorld } from "../world.ts";
import {
  account,
  answersIn,
  askedOf,
  contracts,
  printed,
  scripted,
  sweep,
  symbols,
  symbolsFile,
} from "./world.ts";

// Programs are killed and started again, which takes as long as the machine is slow.
jest.setTimeout(300_000);

const children: ChildProcess[] = [];
afterAll(() => children.forEach((child) => child.kill("SIGKILL")));

test("a sweep that is killed twice while it runs has polled and stored each symbol exactly once at the end", async () => {
  const world = await backfillWorld();
  const bin = compileProgram(tempDir());
  let onList = (): void => undefined;
  const service = await scripted(() => {
    onList();
    return 200;
  });
  // An account of ten calls a second, for the test's sake: 30 lists in three seconds.
  const env = { ...account(world, service.baseUrl), QUOTES_LIMIT: "600" };
  const file = symbolsFile(world, symbols(3_000));

  const killedAfter = async (lists: number): Promise<void> => {
    const child = spawn(process.execPath, [bin, "backfill", "--symbols-file", file], {
      env,
      stdio: "ignore",
    });
    const enough = new Promise<void>((resolve) => {
      onList = () => service.lists.length + 1 >= lists && resolve();
    });
    await Promise.race([enough, endedByItself(child)]);
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  await killedAfter(8);
  const first = await answersIn(world);
  await killedAfter(16);
  const second = await answersIn(world);
  const last = await sweep(env, systemClock, "--symbols-file", file, "--json");

  expect(first.length).toBeGreaterThanOrEqual(6);
  expect(second.length).toBeGreaterThan(first.length);
  expect(last.exitCode).toBe(0);
  expect(askedOf(await answersIn(world)).toSorted()).toEqual(symbols(3_000));
  // A call that was under way at a kill is made again, and no other.
  expect(service.lists.length).toBeLessThanOrEqual(32);
  expect(printed(last)).toMatchObject({
    resumed: true,
    report: { answers: 30, newAnswers: 30, read: 3_000, stored: 3_000, repeated: 0 },
  });
  const { rows } = await world.pool.query("select count(*)::int as n from quotes");
  expect(rows).toEqual([{ n: 3_000 }]);
});

test("3,000 symbols beside a collector that is killed three times meanwhile: no call is refused, each symbol has one quote of them, and the jobs miss nothing but for the kills", async () => {
  const world = await backfillWorld();
  const limits = { quotes: 30, orders: 40, other: 180, windowMs: 3_000 };
  const service = await startSimulatedService(systemClock, { limits });
  const jobs = tempDir();
  // Twelve calls of thirty in each window are the jobs'.
  const strikes = contracts(12).map(
    (name) => `  - { underlying: AAPL, expiration: 2026-12-18, type: CALL, strike: ${name.split(":")[3]} }`,
  );
  writeFileSync(
    join(jobs, "busy.yaml"),
    `name: busy\nschedule: "*/3 * * * * *"\nsession: always\noptions:\n${strikes.join("\n")}\n`,
  );
  const env = {
    ...account(world, service.baseUrl),
    ...{ QUOTES_LIMIT: "30", QUOTES_LIMIT_WINDOW_MS: "3000", QUOTEKEEPER_JOBS_DIR: jobs },
  };
  const bin = compileProgram(tempDir());
  const start = (...argv: string[]): ChildProcess => {
    const child = spawn(process.execPath, [bin, ...argv], { env, stdio: "ignore" });
    children.push(child);
    return child;
  };
  const ofSymbols = async () =>
    (await answersIn(world)).filter(({ jobs: [job] }) => job?.startsWith("once:sweep-"));
  let collector = start("collect");
  await until(async () => (await answersIn(world)).length > 0, "an answer");
  const sweeping = sweep(env, systemClock, "--symbols-file", symbolsFile(world, symbols(3_000)), "--json");
  for (const answers of [3, 8, 15]) {
    await until(async () => (await ofSymbols()).length >= answers, `${answers} answers to the list`);
    collector.kill("SIGKILL");
    await once(collector, "exit");
    collector = start("collect");
  }
  const outcome = await sweeping;
  collector.kill("SIGTERM");
  await once(collector, "exit");

  expect(outcome.exitCode).toBe(0);
  // The calls that the jobs need when the collector is back are left to it.
  expect(outcome.stderr).toContain(
    "The collector has ended. In 30 s without one this command makes the calls.",
  );
  expect(printed(outcome).report).toMatchObject({ stored: 3_000, missing: 0 });
  expect((await answersIn(world)).filter(({ status }) => status !== 200)).toEqual([]);
  expect(askedOf(await ofSymbols()).toSorted()).toEqual(symbols(3_000));
  await run(["backfill", "--journal"], env);
  const { rows } = await world.pool.query(
    `select count(*)::int as n, count(distinct instrument_id)::int as instruments from quotes
     join instruments i on i.id = instrument_id where i.symbol like 'SIM%'`,
  );
  expect(rows).toEqual([{ n: 3_000, instruments: 3_000 }]);
  // A collector that comes back late in a slot may not be done with it at its end.
  const { rows: reasons } = await world.pool.query(
    `select distinct reason from misses m where job = 'busy' and reason <> 'down' and not (reason = 'overrun' and exists (
       select from misses d where d.job = 'busy' and d.reason = 'down' and m.slot_at between d.slot_at and d.slot_at + interval '6 s'
     ))`,
  );
  expect(reasons).toEqual([]);
});

async function endedByItself(child: ChildProcess): Promise<never> {
  await once(child, "exit");
  throw new Error(`it ended by itself with ${child.exitCode}`);
}
