/** A sweep that is killed at any moment goes on where it stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, jest, test } from "@jest/globals";
import { systemClock } from "../../../src/clock.ts";
import { compileProgram } from "../../support/compileProgram.ts";
import { tempDir } from "../../support/tempDir.ts";
import { backfillWorld } from "../world.ts";
import { account, answersIn, askedOf, printed, scripted, sweep, symbols, symbolsFile } from "./world.ts";

// Programs are killed and started again, which takes as long as the machine is slow.
jest.setTimeout(300_000);

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

async function endedByItself(child: ChildProcess): Promise<never> {
  await once(child, "exit");
  throw new Error(`it ended by itself with ${child.exitCode}`);
}
